"""Samplers of approximate Bayesian computation, whose posteriors are weighted particles.

Read ``sampler`` (what they share) and ``population`` (weighted particles), then ``rejection``;
``sequence`` (what the two SMC samplers share), ``smc``, ``mh``; and ``pmc``.
"""
