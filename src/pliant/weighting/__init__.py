"""From distances to weights.

In come a round's particles with their distances; out come log-weights, for a family to fit.

Read ``kernels`` (a distance becomes a pseudo-likelihood), ``weights`` (the log-weights of a round),
``schedules`` (the bandwidth of each round, with the trust region's dual), ``reuse`` (particles of
earlier rounds), ``calibration`` (the bandwidth that gives honest widths), ``partition`` (the
partition function) and ``final_check`` (how well a posterior fits its target).
"""
