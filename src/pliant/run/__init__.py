"""A run from start to result, in memory and on disk.

In: a problem, a method, a seed and budgets. Out: a ``Result`` with its ``Posterior``, ``History``
and ``Status``, and a folder from which the run can be resumed.

Read ``infer`` first: the loop over rounds. Then ``recording`` and ``failures`` (what became of the
simulations), ``progress`` and ``heartbeat`` (what a run shows of itself), ``history``,
``posterior`` with ``inference_data`` (for ArviZ), and ``result``. ``show`` and ``figures`` are how
these look, ``notebook`` the line below a cell. On disk: ``folder`` (every file name), ``ownership``
(which files are a run's own), ``store`` (plan and rounds), ``ledger`` (slow simulations),
``serialise`` (the only serialiser), ``classes`` (what a file may hold) and ``validate`` (whether
what it holds fits its place).
"""
