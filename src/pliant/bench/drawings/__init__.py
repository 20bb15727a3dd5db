"""The paper's figures: the results of a grid come in, a matplotlib figure comes out.

Read ``style`` (what all figures share), then ``metrics``, ``posteriors``, ``bandwidth``,
``partition`` and ``furuta``.
"""
