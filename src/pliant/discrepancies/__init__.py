"""From a proposal to particles with their distances D(theta).

In comes a proposal and the parameters that a method drew from it; out come particles with their
distances to the observed set, and what the round cost. Read first ``base``, the one contract.

Measured discrepancies simulate a set with each parameter and compare it: ``measured``, then
``mmd`` (``pairs``, ``lengthscales``), ``random_features``, ``energy``, ``wasserstein``,
``sliced_wasserstein``, ``euclidean``; ``blocks`` maps them over many sets.

Learned ones train networks on single draws and evaluate them: ``learned``, then ``approach`` (the
first rounds), ``reading`` (how an observation is read), ``draws`` and ``memory`` (what the networks
are trained on), ``statistics`` (of long observations) with ``critic`` (what trains them),
``ensemble`` (the networks), ``likelihood_kl`` with ``likelihood_network``, ``ratio_kl``.
``likelihood`` is what a run keeps of them.
"""
