"""What a density q(z) can be, and how it is fitted to weighted samples.

In: samples ``z`` of the unconstrained, standardised parameters, and their log-weights. Out: a
density with ``sample`` and ``log_prob``: the posterior, and the next round's proposal.

Read ``base`` first (the contracts), then the families ``gaussian``, ``mixture`` (weighted EM) and
``spline_flow``, which needs ``coupling`` (the bijection), ``training`` (gradient descent with
early stopping), and ``modes`` and ``flow_mixture``, where modes are apart; new networks get their
numbers from ``weights``. ``reverse`` is the i-projection
onto any family. ``conditional_flow``, ``categories``, ``embeddings`` (of sets), ``convolutions``
(of series and images) and ``amortised`` are densities given data;
``contrast`` has the held-out split and the contrastive loss; ``particles`` turns weighted samples
into a density, and ``affine`` moves and stretches one.
"""
