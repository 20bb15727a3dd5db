"""The inference problem: prior, simulator and observations, checked once.

In: what the user writes. Out: a ``Problem`` with a prior over the unconstrained, standardised
vector z, a simulator, and observations in single precision. Mistakes raise here, before the first
simulation.

Read ``problem`` first, then ``observations`` (their structure, gaps and conditions), ``space``
(theta <-> z), ``prior`` (the prior as a density of z),
``samples`` (tables of parameters), ``sets`` (simulated sets in chunks of bounded memory),
``points`` (draws with what they were made under) and ``scale`` (the one home of standardising).
``describe`` and ``markup`` show a problem in text and in notebooks.
"""
