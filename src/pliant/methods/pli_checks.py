"""Which options of PLI go together."""

from typing import TYPE_CHECKING

from pliant._checks import check_instance, check_integer, check_real
from pliant.densities.base import AbstractFamily, AbstractModelFamily
from pliant.discrepancies.base import AbstractDiscrepancy
from pliant.methods.base import FEWEST_PARTICLES
from pliant.weighting.kernels import AbstractKernel
from pliant.weighting.partition import PartitionFunction
from pliant.weighting.schedules.base import AbstractSchedule

if TYPE_CHECKING:
    from pliant.methods.pli import PLI


def check_options(method: "PLI") -> None:
    """Raise a ``TypeError`` or ``ValueError`` that names the first option that is wrong."""
    check_integer("rounds", method.rounds, at_least=1)
    if method.discrepancy is not None:
        check_instance("discrepancy", method.discrepancy, AbstractDiscrepancy, "pliant.MMD()")
    families = AbstractFamily if method.projection == "m" else AbstractModelFamily
    check_instance("family", method.family, families, "pliant.SplineFlow()")
    check_instance("schedule", method.schedule, AbstractSchedule, "pliant.TrustRegion()")
    check_instance("kernel", method.kernel, AbstractKernel, "pliant.ExponentialKernel()")
    if method.projection not in ("m", "i"):
        raise ValueError(f'projection: expected "m" or "i", got {method.projection!r}.')
    if method.partition is not None:
        check_instance("partition", method.partition, PartitionFunction, "PartitionFunction()")
    if method.noise_limit is not None:
        check_real("noise_limit", method.noise_limit, above=0)
    check_integer("reuse", method.reuse, at_least=0)
    measured = method.discrepancy is not None and method.discrepancy.is_noisy
    if method.reuse and (not measured or method.projection == "i"):
        raise ValueError("reuse: it needs a discrepancy that is measured, and projection='m'.")
    for name, least in (("n_particles", FEWEST_PARTICLES), ("n_draws", 1), ("chunk_size", 1)):
        if getattr(method, name) is not None:
            check_integer(name, getattr(method, name), at_least=least)
    if isinstance(method.beta, str):
        _check_calibrated(method.beta, method.discrepancy, method.partition)
    elif method.beta is not None:
        check_real("beta", method.beta, above=0)


def _check_calibrated(
    beta: str, discrepancy: AbstractDiscrepancy | None, partition: PartitionFunction | None
) -> None:
    if beta != "calibrated":
        raise ValueError(f'beta: expected a positive number or "calibrated", got {beta!r}.')
    if discrepancy is None or not discrepancy.has_influences:
        name = "a learned likelihood" if discrepancy is None else type(discrepancy).__name__
        raise ValueError(
            f'beta: "calibrated" resamples observations, which {name} cannot. Use '
            "discrepancy=pliant.MMD() or pliant.Energy(), or give a number."
        )
    if partition is not None:
        raise ValueError('partition: it needs a fixed bandwidth, so beta="calibrated" cannot.')
