"""The result of a run, and how it is kept in a folder without pickle."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from pliant._checks import check_path
from pliant._files import read_arrays, read_json, write_arrays, write_json
from pliant.densities.particles import particle_density
from pliant.methods.base import AbstractMethod
from pliant.problem.prior import Prior
from pliant.problem.space import Space, decode_support, encode_support
from pliant.run.config import decode, encode
from pliant.run.failures import Failure
from pliant.run.history import History
from pliant.run.posterior import Posterior
from pliant.weighting.final_check import USABLE, FinalCheck

_FORMAT = 1


@dataclass(frozen=True)
class Result:
    """What a run gives.

    Attributes:
        posterior: The posterior after the last good round.
        history: One row a round.
        status: "finished", or why the run ended early: "converged", "noise", "acceptance",
            "tolerance", "failed", "diverged", "storage", "interrupted", "max_simulations",
            "max_seconds", "callback".
        message: The status in words, with what to do about it.
        method: The method with its options.
        seed: The seed of the run.
        observed_shape: The shape ``(N, *event)`` of the observations.
        failures: Each kind of draw that failed: how many, and the first one.
        check: How well the posterior fits its target, where the method can tell: a learned
            likelihood can.
    """

    posterior: Posterior
    history: History
    status: str
    message: str
    method: AbstractMethod
    seed: int
    observed_shape: tuple[int, ...]
    failures: tuple[Failure, ...] = ()
    check: FinalCheck | None = None

    def resampled(self) -> Posterior:
        """The posterior of the final check's weighted draws: nearer to the target than the fit.

        Its samples are draws of the fitted posterior, taken by their importance weights.

        Raises:
            ValueError: If there was no check, or if its weights cannot be trusted.
        """
        if self.check is None:
            raise ValueError(
                "There is no final check to resample from. Use a learned likelihood, such as "
                "pliant.PLI.accurate()."
            )
        if self.check.k_hat > USABLE:
            raise ValueError(
                f"The importance weights cannot be trusted: k-hat is {self.check.k_hat:.2f}, and "
                f"should be {USABLE} at most. {self.check.words}"
            )
        return Posterior(
            self.posterior.space, particle_density(self.check.z, self.check.log_weights)
        )

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the result into a folder, as JSON and arrays, for ``pliant.load``.

        Raises:
            FileExistsError: If the folder holds a result already and ``overwrite`` is not set.
            ValueError: If no round was finished, so that there is no posterior to write.
        """
        folder = check_path("folder", folder)
        if not self.history or isinstance(self.posterior.density, Prior):
            raise ValueError("No round was finished, so there is no posterior to save.")
        if (folder / "result.json").exists() and not overwrite:
            raise FileExistsError(
                f"{folder} holds a result already. Choose another folder, or pass overwrite=True."
            )
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "result.json").unlink(missing_ok=True)  # so that no half of two results is read
        space = self.posterior.space
        leaves = jax.tree.leaves(eqx.filter(self.posterior.density, eqx.is_array))
        arrays = {f"density_{index}": leaf for index, leaf in enumerate(leaves)}
        if self.check is not None:
            arrays |= {f"check_{name}": value for name, value in vars(self.check).items()}
        write_arrays(folder / "posterior.npz", {"loc": space.loc, "scale": space.scale, **arrays})
        write_json(folder / "history.json", list(self.history))
        write_json(
            folder / "result.json",
            {
                "format": _FORMAT,
                "status": self.status,
                "message": self.message,
                "check": None if self.check is None else self.check.words,
                "seed": self.seed,
                "method": encode(self.method),
                "observed_shape": self.observed_shape,
                "failures": [failure._asdict() for failure in self.failures],
                "space": {
                    "names": space.names,
                    "shapes": space.shapes,
                    "supports": [encode_support(support) for support in space.supports],
                },
            },
        )
        return folder


def load(folder: str | Path, *, classes: Iterable[type] = ()) -> Result:
    """Read a result that ``Result.save`` wrote. The files are data: no code in them can run.

    Args:
        folder: Where the result is.
        classes: Your own discrepancy, family or bandwidth classes, if the run used any.

    Raises:
        FileNotFoundError, ValueError: If the folder holds no result, or a file is damaged.
    """
    folder = check_path("folder", folder)
    if not (folder / "result.json").is_file():
        hint = " Its run is not finished: pliant.resume." if (folder / "run.json").exists() else ""
        raise FileNotFoundError(f"{folder} holds no result (there is no result.json in it).{hint}")
    data = read_json(folder / "result.json")
    arrays = read_arrays(folder / "posterior.npz")
    rows = read_json(folder / "history.json")
    try:
        if data["format"] != _FORMAT:
            raise ValueError(f"format {data['format']!r}, where {_FORMAT} was expected")
        method = decode(data["method"], classes)
        observed_shape = tuple(data["observed_shape"])
        return Result(
            posterior=_read_posterior(method, observed_shape, data["space"], arrays),
            history=History(rows),
            status=data["status"],
            message=data["message"],
            method=method,
            seed=data["seed"],
            observed_shape=observed_shape,
            failures=tuple(Failure(**failure) for failure in data.get("failures", ())),
            check=_read_check(arrays),
        )
    except (LookupError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
        raise ValueError(f"{folder}: damaged, or of another version: {error!r}.") from error


def _read_check(arrays: dict[str, np.ndarray]) -> FinalCheck | None:
    if "check_z" not in arrays:
        return None
    z, log_weights = arrays["check_z"], arrays["check_log_weights"]
    return FinalCheck(z, log_weights, float(arrays["check_k_hat"]))


def _read_posterior(
    method: AbstractMethod,
    observed_shape: tuple[int, ...],
    data: dict[str, Any],
    arrays: dict[str, np.ndarray],
) -> Posterior:
    names = data["names"]
    space = Space(
        names=None if names is None else tuple(names),
        shapes=tuple(tuple(shape) for shape in data["shapes"]),
        supports=tuple(decode_support(support) for support in data["supports"]),
        loc=jnp.asarray(arrays["loc"]),
        scale=jnp.asarray(arrays["scale"]),
    )
    dynamic, static = eqx.partition(method.skeleton(space.dim, observed_shape), eqx.is_array)
    leaves, structure = jax.tree.flatten(dynamic)
    shapes = {f"density_{index}": leaf.shape for index, leaf in enumerate(leaves)}
    for name, shape in {"loc": (space.dim,), "scale": (space.dim,), **shapes}.items():
        if arrays[name].shape != shape or not np.all(np.isfinite(arrays[name])):
            raise ValueError(f"posterior.npz: {name} should be finite numbers of the shape {shape}")
    read = [jnp.asarray(arrays[name]) for name in shapes]
    return Posterior(space, eqx.combine(jax.tree.unflatten(structure, read), static))
