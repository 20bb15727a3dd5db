"""Plots of posteriors and of runs, as matplotlib figures without windows.

Samples or a history come in; a ``matplotlib.figure.Figure`` comes out.

Read ``pairs`` (``plot_pairs``) and ``history`` (``plot_history``), then the parts of the figures
of ``pliant.bench``: ``pair_panels``, ``means`` and ``trajectories``. All use ``regions``,
``density`` and ``style``.
"""

from pliant.plots.history import plot_history as plot_history
from pliant.plots.pairs import plot_pairs as plot_pairs
