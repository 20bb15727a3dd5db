"""The command ``pliant``: the only room where strings become objects.

A command line comes in; files, printed lines and an exit code come out. JAX, NumPy and matplotlib
are imported only when a command needs them.

Read ``app`` (the commands) with ``options``, ``choices`` (names of methods, families, discrepancies
and other parts), ``new`` (templates of problems, in ``templates/``), ``target`` (what to infer)
with ``trust`` (which files may be executed), ``run`` (``pliant run`` and ``resume``) with
``run_folder`` and ``dask``; ``show`` with ``saved``; ``diagnose``; ``write_report`` and ``watch``
(pages of runs); ``eval``; ``tasks``;
``bench_commands`` and ``bench`` with ``grid`` (grid files), ``grid_values`` (checks of their
values), ``grid_options`` (what they can set of a method) and ``grid_layers`` (which of several
tables wins); ``report`` (what is printed), ``working`` (what is shown meanwhile), ``errors``
(mistakes in one line) and ``printable`` (text that cannot control a terminal). ``__main__`` makes
``python -m pliant.cli`` work.
"""

from pliant.cli.app import app as app
from pliant.cli.app import main as main
