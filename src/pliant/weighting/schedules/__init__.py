"""The rule for the bandwidth beta_t of each round: how far one round may go.

Read ``base``, then ``trust_region`` (the paper's), ``ess``, ``quantile`` and ``fixed``.
"""
