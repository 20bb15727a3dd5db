"""The partition function Z(theta) of the pseudo-likelihood, by the Monte Carlo of appendix A.4."""

import dataclasses
import math
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from pliant._checks import check_integer
from pliant._devices import share_out
from pliant.discrepancies.base import AbstractPartition, Evaluation
from pliant.discrepancies.measured import AbstractMeasuredDiscrepancy, MeasuredState
from pliant.problem.problem import Problem
from pliant.problem.space import constrain_all
from pliant.weighting.kernels import AbstractKernel, ExponentialKernel

_PILOT = 100  # prior simulations from which the box is made (the paper: 100)
_ROOTS = 5.0  # half the width of the paper's box, in square roots of beta
_DEVIATIONS = 3.0  # half the width of the box "data", in standard deviations
_BLOCK_VALUES = 2**15  # numbers of the simulated and reference sets that are compared at once
_MOST_SETS = 16  # reference sets in a block
_RIDGES = tuple(10.0 ** np.arange(-6, 3))  # per point, of standardised features


class PartitionFunction(eqx.Module):
    r"""How Z(theta), the integral of the kernel over all observed sets, is estimated.

    Reference sets of N points are drawn uniformly from a box, and (appendix A.4)

    .. math::
        Z(\theta) \approx \frac{V}{S} \sum_{i=1}^{S}
            \exp\left(-\frac{D(y_i, x_\theta)}{2 \beta}\right), \qquad
        y_i \sim \mathcal{U}(\bar x - 5 \sqrt\beta, \bar x + 5 \sqrt\beta),

    where :math:`\bar x` is the mean of 100 prior simulations. The volume V is left out, as it does
    not depend on theta. Z is evaluated at ``n_particles`` particles of a round. Those at the other
    particles are predicted: log Z is fitted by a quadratic polynomial in z (or a linear one, by
    leave-one-out error), clamped to the range of the evaluated values.

    The time of a round grows by that of ``n_particles * n_sets`` distances. The discrepancy's
    ``prepare`` must be a JAX function of its argument.

    Args:
        n_sets: S, how many reference sets are drawn.
        n_particles: The particles of a round at which Z is evaluated; None for all of them, each
            of which then keeps its own value.
        exponent: "main" for the kernel that PLI weights with, ``exp(-D / (2 beta))`` unless another
            is given; "appendix" for ``exp(-D / beta)``.
        box: "paper" for +- 5 sqrt(beta) around the mean of the prior simulations, in the units in
            which the discrepancy compares features; "data" for the smallest box that holds the
            mean +- 3 standard deviations, of each feature, of the prior simulations and of the
            observations.
    """

    n_sets: int = eqx.field(static=True, default=10_000)
    n_particles: int | None = eqx.field(static=True, default=100)
    exponent: Literal["main", "appendix"] = eqx.field(static=True, default="main")
    box: Literal["paper", "data"] = eqx.field(static=True, default="paper")

    def __check_init__(self):
        check_integer("n_sets", self.n_sets, at_least=1)
        if self.n_particles is not None:
            check_integer("n_particles", self.n_particles, at_least=1)
        for name, choices in (("exponent", ("main", "appendix")), ("box", ("paper", "data"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}: expected one of {choices}, got {getattr(self, name)!r}.")

    @property
    def simulations(self) -> int:
        """The simulator calls of ``prepare``."""
        return _PILOT

    def prepare(
        self,
        key: Key[Array, ""],
        problem: Problem,
        state: Any,
        kernel: AbstractKernel,
        beta: float,
    ) -> tuple["PreparedPartition", int]:
        """Fix the box by simulations with the prior.

        Args:
            key: For the pilot and the sets.
            problem: With prior, simulator and observations.
            state: The discrepancy's, before the first round.
            kernel: What turns distances into pseudo-likelihoods.
            beta: The target bandwidth.

        Returns:
            What evaluates Z, and the number of simulator calls.

        Raises:
            ValueError: If the discrepancy does not compare sets, or the exponent is not the
                kernel's.
        """
        if not isinstance(state, MeasuredState):
            raise ValueError(
                "partition: a learned likelihood is normalised; leave the partition function out."
            )
        if problem.extras:
            raise ValueError(
                "partition: Z(theta) is an integral over sets of observations that are alike. "
                "Leave it out for observations with conditions or gaps."
            )
        if self.exponent == "appendix" and not isinstance(kernel, ExponentialKernel):
            raise ValueError(
                'exponent: "appendix" is exp(-D / beta), so it needs pliant.ExponentialKernel(), '
                f"got {type(kernel).__name__}."
            )
        pilot_key, set_key = jax.random.split(key)
        low, high = self._corners(pilot_key, problem, state.discrepancy, beta)
        prepared = PreparedPartition(
            options=self,
            discrepancy=state.discrepancy,
            kernel=kernel,
            bandwidth=beta / 2 if self.exponent == "appendix" else beta,
            key=set_key,
            n_obs=problem.n_obs,
            low=jnp.asarray(low, float),
            high=jnp.asarray(high, float),
        )
        return prepared, self.simulations

    def _corners(
        self,
        key: Key[Array, ""],
        problem: Problem,
        discrepancy: AbstractMeasuredDiscrepancy,
        beta: float,
    ) -> Float[np.ndarray, "2 *event"]:
        """The least and the greatest corner of the box."""
        prior_key, sim_key = jax.random.split(key)
        z = problem.prior.sample(prior_key, _PILOT)
        thetas = constrain_all(problem.prior.space, z)
        x, ok = problem.simulator.simulate(jax.random.split(sim_key, _PILOT), thetas, 1)
        observed = np.asarray(problem.observed, np.float64)
        pilot = np.asarray(x, np.float64)[np.asarray(ok)]
        pilot = pilot if len(pilot) else observed
        if self.box == "paper":
            scale = np.ones(()) if discrepancy.scale is None else np.asarray(discrepancy.scale)
            half = _ROOTS * np.sqrt(beta) * np.broadcast_to(scale, (observed[0].size,))
            half = half.reshape(observed.shape[1:])
            return pilot.mean(axis=0) + np.stack([-half, half])
        ends = np.stack([_interval(pilot), _interval(observed)])
        return np.stack([ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)])


class PreparedPartition(AbstractPartition):
    """The box of the reference sets. A set is drawn from the key when it is needed."""

    options: PartitionFunction
    discrepancy: AbstractMeasuredDiscrepancy
    kernel: AbstractKernel
    bandwidth: float
    """Of the kernel in Z."""
    key: Key[Array, ""]
    n_obs: int
    low: Float[Array, "*event"]
    high: Float[Array, "*event"]

    @property
    def n_particles(self) -> int | None:
        """As the options say."""
        return self.options.n_particles

    def reference_set(self, index: Int[Array, ""] | int) -> Float[Array, "N *event"]:
        """The reference set of this number: uniform points of the box."""
        unit = jax.random.uniform(
            jax.random.fold_in(self.key, index), (self.n_obs, *self.low.shape)
        )
        return self.low[None] + (self.high - self.low)[None] * unit

    def log_values(
        self, x: Float[Array, "K M *event"], ok: Bool[Array, "K M"]
    ) -> Float[np.ndarray, " K"]:
        """Log Z(theta) of ``K`` simulated sets, up to the constant log V.

        Reference sets are drawn and compared in blocks, and added up in order. Every block runs
        the same program, for a number of sets that depends on their sizes alone: memory is bounded,
        and a value does not depend on the chunk that its set is in. (A loop over blocks inside the
        program would: XLA unrolls one that runs once, and rounds differently.)
        """
        n_sets = self.options.n_sets
        numbers = (x.shape[1] + self.n_obs) * max(1, math.prod(x.shape[2:]))
        block = max(1, min(_MOST_SETS, _BLOCK_VALUES // numbers))
        total = np.full(len(x), -np.inf)
        for start in range(0, n_sets, block):
            indices = jnp.arange(start, start + block)
            distances = np.asarray(_distances(self, indices, x, ok), np.float64)
            log_kernel = self.kernel.log_value(distances[: n_sets - start], self.bandwidth)
            total = np.logaddexp.reduce(np.concatenate([total[None], log_kernel]), axis=0)
        return total - np.log(n_sets)

    def corrected(self, evaluation: Evaluation) -> Evaluation:
        """Give log Z to all particles of a round, and the column ``partition_fit`` to its row."""
        particles, values = evaluation.particles, evaluation.log_partition
        if self.n_particles is None:
            known = np.isfinite(values)
            least = values[known].min() if known.any() else 0.0
            everywhere, row = np.where(known, values, least), evaluation.row
        else:
            everywhere, quality = predicted(particles.z, values)
            row = {**evaluation.row, "partition_fit": quality}
        particles = dataclasses.replace(particles, log_partition=everywhere)
        return evaluation._replace(particles=particles, row=row)


@eqx.filter_jit
def _distances(
    partition: PreparedPartition,
    indices: Int[Array, " sets"],
    x: Float[Array, "K M *event"],
    ok: Bool[Array, "K M"],
) -> Float[Array, "sets K"]:
    arrays, rest = eqx.partition(partition, eqx.is_array)

    def measure(sets: PyTree, common: PyTree) -> Float[Array, "K sets"]:
        arrays, indices = common
        partition: PreparedPartition = eqx.combine(arrays, rest)

        def one(index: Int[Array, ""]) -> Float[Array, " K"]:
            prepared = partition.discrepancy.prepare(partition.reference_set(index))
            return partition.discrepancy.measure(prepared, *sets)[0]

        return jax.vmap(one, out_axes=1)(indices)

    return share_out(measure, (x, ok), (arrays, indices)).T


def predicted(
    z: Float[np.ndarray, "K dim"], values: Float[np.ndarray, " S"]
) -> tuple[Float[np.ndarray, " K"], float]:
    """A function of all particles, from its noisy values at the first S of them.

    A polynomial in whitened z is fitted by ridge regression. Its degree, 1 or 2, and the ridge
    have the least leave-one-out error, so a few values give a line or a constant. Predictions are
    clamped to the range of the values. Values that are not finite are left out.

    Args:
        z: All particles.
        values: Of the first of them.

    Returns:
        The prediction at all particles, and the leave-one-out R^2: the share of the values'
        variance that the fit explains. It is NaN for less than three values.
    """
    known = np.flatnonzero(np.isfinite(values))
    y = values[known]
    if len(y) < 3 or np.ptp(y) == 0:
        return np.full(len(z), y.mean() if len(y) else 0.0), float("nan")
    white = _whitened(z)
    rows, columns = np.triu_indices(white.shape[1])
    products = white[:, rows] * white[:, columns]
    fits = [_ridge(white, known, y), _ridge(np.hstack([white, products]), known, y)]
    fitted, error = min(fits, key=lambda fit: fit[1])
    quality = 1 - error / np.mean((y - y.mean()) ** 2)
    return np.clip(fitted, y.min(), y.max()), float(quality)


def _ridge(
    features: Float[np.ndarray, "K F"], known: Int[np.ndarray, " S"], y: Float[np.ndarray, " S"]
) -> tuple[Float[np.ndarray, " K"], float]:
    """Ridge regression on the known rows: predictions at all rows, leave-one-out squared error.

    The error of a row that is left out is ``residual / (1 - h)`` with its leverage h.
    """
    own = features[known]
    spread = own.std(axis=0)
    centre, spread = own.mean(axis=0), np.where(spread > 0, spread, 1.0)
    left, singular, right = np.linalg.svd((own - centre) / spread, full_matrices=False)
    best = (np.zeros(own.shape[1]), np.inf)
    for ridge in _RIDGES:
        shrink = singular / (singular**2 + ridge * len(y))
        leverage = 1 / len(y) + (left**2) @ (shrink * singular)
        slope = right.T @ (shrink * (left.T @ (y - y.mean())))
        residual = y - y.mean() - ((own - centre) / spread) @ slope
        error = float(np.mean((residual / np.maximum(1 - leverage, 1e-9)) ** 2))
        if error < best[1]:
            best = (slope, error)
    return y.mean() + ((features - centre) / spread) @ best[0], best[1]


def _whitened(z: Float[np.ndarray, "K dim"]) -> Float[np.ndarray, "K dim"]:
    centred = z - z.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(z))
    floor = max(values.max() * 1e-12, np.finfo(float).tiny)
    return centred @ vectors / np.sqrt(np.maximum(values, floor))


def _interval(x: Float[np.ndarray, "n *event"]) -> Float[np.ndarray, "2 *event"]:
    """The mean, less and plus three standard deviations, of each feature."""
    half = _DEVIATIONS * x.std(axis=0)
    return x.mean(axis=0) + np.stack([-half, half])
