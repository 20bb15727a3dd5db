"""How good a posterior is: scores, each with its noise floor.

A posterior, its problem and perhaps its task come in; a list of ``Metric`` comes out.

Read ``table`` (``evaluate``, all metrics of a posterior), then ``mmd``, ``wasserstein`` and
``c2st`` (distances between samples), ``predictive`` (simulations against the data) and
``rollouts`` (motions of the pendulum).
"""

from pliant.metrics.c2st import c2st as c2st
from pliant.metrics.mmd import squared_mmd as squared_mmd
from pliant.metrics.table import Metric as Metric
from pliant.metrics.table import evaluate as evaluate
from pliant.metrics.wasserstein import squared_wasserstein as squared_wasserstein
