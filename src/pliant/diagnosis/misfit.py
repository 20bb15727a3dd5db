"""Whether the observed set, as a whole, is one that the posterior could have produced."""

import numpy as np
from jaxtyping import Float

from pliant.diagnosis.evidence import Evidence, scaled_points
from pliant.diagnosis.finding import Finding, Level
from pliant.diagnosis.p_values import LIMIT, joint_p_value
from pliant.problem.problem import Problem
from pliant.problem.sets import Draws

_WAVES = 100  # random features for each lengthscale
_RIDGE = 0.02  # of the largest variance of the embeddings
_LENGTHSCALES = 0.3, 1.0, 3.0  # standard deviations of a point's features

_REMEDY = (
    "The model does not explain these data. Look at the statistics and at single observations "
    "below, and change the simulator, or use pliant.PLI(discrepancy=pliant.MMD(), "
    'beta="calibrated"), which bends less to what a model cannot explain.'
)


def check_misfit(evidence: Evidence) -> list[Finding]:
    """Compare the observed set with simulated ones, by its likelihood and by its MMD to them.

    Both statistics are compared together: one p-value for the set.
    """
    observed, replicated, names = [], [], []
    if evidence.log_own is not None and evidence.log_observed is not None:
        n_sets = evidence.n_sets
        observed.append(-evidence.log_observed[:n_sets].mean(dtype=np.float64))
        replicated.append(-np.nanmean(evidence.log_own, axis=1, dtype=np.float64))
        names.append("loss")
    own, others = embedding_distances_to_all(evidence.problem, evidence.sets)
    observed.append(np.log(own))
    replicated.append(np.log(others))
    names.append("MMD")
    last = len(names) - 1
    p, off = joint_p_value(np.array(observed), np.stack(replicated, axis=1), upper=[last])
    told = [f"{name} {z:+.1f} standard deviations" for name, z in zip(names, off, strict=True)]
    text = f"The observed set beside those of the posterior: {', '.join(told)} (p = {p:.2g})."
    if p > LIMIT:
        return [Finding("misfit", Level.OK, text, number=p, limit=LIMIT)]
    if names[0] == "loss":
        loss, usual = observed[0], float(np.mean(replicated[0]))
        text += f" Its loss is {loss:.3g} per observation, where {usual:.3g} is usual."
    return [Finding("misfit", Level.DOUBTFUL, text, _REMEDY, p, LIMIT)]


def embedding_distances_to_all(
    problem: Problem, sets: Draws
) -> tuple[float, Float[np.ndarray, " R"]]:
    """Squared MMD of the observed set, and of each simulated one, to all sets together.

    Directions in which sets differ anyway, such as their mean, count less: the MMD is regularised
    by the covariance of the sets' embeddings (as in Harchaoui et al. 2007), all sets alike.
    """
    mean, means = _embeddings(problem, sets)
    together = np.concatenate([mean[None], means])
    centred = together - together.mean(axis=0)
    squares, directions = np.linalg.eigh(centred @ centred.T)
    squares = np.maximum(squares, 0.0)
    shrunk = squares / (squares + _RIDGE * squares[-1])
    values = len(together) * np.sum(directions**2 * shrunk, axis=1)
    return float(values[0]), values[1:]


def embedding_distances(problem: Problem, sets: Draws) -> Float[np.ndarray, " R"]:
    """Squared MMD of each simulated set to the observed one."""
    mean, means = _embeddings(problem, sets)
    return np.sum((means - mean[None]) ** 2, axis=1)


def _embeddings(
    problem: Problem, sets: Draws
) -> tuple[Float[np.ndarray, " W"], Float[np.ndarray, "R W"]]:
    """Mean random features of the observed set, and of each simulated one.

    A failed draw does not count.
    """
    observed, rows = scaled_points(problem, sets)
    rng = np.random.default_rng(0)
    dim = observed.shape[1]
    scales = np.repeat(_LENGTHSCALES, _WAVES) * np.sqrt(dim)
    frequencies = rng.standard_normal((dim, len(scales))) / scales
    phases = rng.uniform(0, 2 * np.pi, len(scales))

    def features(x: np.ndarray) -> np.ndarray:
        bounded = np.sign(x) * np.minimum(np.abs(x), 5 + np.log1p(np.abs(x)))
        return np.cos(bounded @ frequencies + phases)

    ok, none = np.asarray(sets.ok), np.zeros(len(scales))
    means = [
        features(x[usable]).mean(axis=0) if usable.any() else none
        for x, usable in zip(rows, ok, strict=True)
    ]
    return features(observed).mean(axis=0), np.stack(means)
