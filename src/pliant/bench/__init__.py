"""The paper's experiments: a grid of runs, their table, and the figures made from it."""
