"""Attacks on runs, for ``benchmarks/faults.py``: one table of them in each file.

``campaign`` says what an attack is and counts what came of it, ``models`` has the runs that are
attacked, and ``children`` the processes that are killed or limited. Then come the tables:
``folders`` (files of others, locks), ``forged`` (files with right checksums and wrong content),
``trust`` (problem files that a folder names), ``command`` (options, paths, full disks),
``simulators``, ``problems``, ``flips`` (single bytes) and ``kills``.
"""
