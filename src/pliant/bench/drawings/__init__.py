"""The paper's figures: the results of a grid come in, a matplotlib figure comes out.

Read ``style`` and ``curves`` (what figures share), then ``overview``, ``metrics``, ``posteriors``,
``bandwidth``, ``partition`` and ``furuta``.
"""
