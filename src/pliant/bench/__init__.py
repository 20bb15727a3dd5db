"""The paper's experiments: a grid of runs, the table of their metrics, and figures.

A ``Grid`` of runs with their methods comes in; a folder with one subfolder per run, tables and
figures comes out. ``pliant.cli`` reads grids from TOML files; ``grids`` holds those of the paper.

Read ``plan`` (a run and its name), ``folders`` (where it is stored), ``perform`` (one run),
``pool`` with ``processes`` and ``cluster`` (who performs it), ``run`` (a whole grid), ``known``
(runs that an earlier table has), ``display`` and ``time_left`` (what the user watches),
``collect`` (tables), ``results`` (a grid read back), ``figures`` and ``drawings`` (one file per
figure).
"""
