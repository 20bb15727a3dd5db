"""Whether a posterior can be trusted, and which observations the model does not explain.

In comes the result of a run with its problem; out comes a ``Diagnosis``: a verdict, what each check
found, and tables. Read ``diagnose`` first, then ``finding`` (what a check says) and ``evidence``
(what all checks look at).

One check a file, in the order in which they are read: ``arrived``, ``fit`` and ``elsewhere`` (other
modes), ``learning``, ``misfit`` (of the whole set), ``observations`` (single ones; ``similarity``
where nothing was learned), ``predictive``, ``calibration`` and ``reruns`` (by whole runs),
``determination`` (prior and data), ``failed_draws``. ``p_values`` serves them.
``diagnosis`` is what comes out, ``figures`` its pictures.
"""
