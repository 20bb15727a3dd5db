"""How to repeat a run and its figures: the command, the configuration, and lines of Python."""

import json
import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

from pliant.methods.base import AbstractMethod
from pliant.reporting.subject import Subject

_PACKAGES = ("pliant", "jax", "jaxlib", "numpyro", "numpy")


def versions_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Those that the run recorded, or else those that are installed here."""
    recorded = config.get("versions")
    if isinstance(recorded, Mapping) and recorded:
        return {str(name): str(text) for name, text in recorded.items()}
    return {**{name: version(name) for name in _PACKAGES}, "python": platform.python_version()}


def reproduction(subject: Subject) -> dict[str, Any]:
    """The command, the configuration as labels with texts, and code with its titles."""
    config = subject.known.config
    command = config.get("command")
    return {
        "command": command if isinstance(command, str) else "",
        "configuration": [*_configuration(config), *_options(subject.method, config)],
        "code": [{"title": title, "text": text} for title, text in _code(subject).items()],
    }


def _configuration(config: Mapping[str, Any]) -> list[list[str]]:
    labels = {"target": "problem", "platform": "platform", "device": "device"}
    return [
        [label, value]
        for name, label in labels.items()
        if isinstance(value := config.get(name), str)
    ]


def _options(method: AbstractMethod | None, config: Mapping[str, Any]) -> list[list[str]]:
    """What the method was, and what the command line changed of its defaults."""
    changed = config.get("changed")
    rows = [] if method is None else [["method", _one_line(repr(method))]]
    if isinstance(changed, Mapping) and changed:
        told = ", ".join(f"{name}={_short(value)}" for name, value in changed.items())
        rows.append(["changed options", told])
    return rows


def _one_line(text: str) -> str:
    """Code without its line breaks."""
    return re.sub(r"(?<=[(\[])\s+|,?\s+(?=[)\]])", "", " ".join(text.split()))


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _code(subject: Subject) -> dict[str, str]:
    """Lines of Python behind each figure. The first block is needed by the others."""
    folder = subject.folder or "run/"
    reading = f"result = pliant.load({folder!r})"
    if not subject.folder:
        reading += "  # or the result of pliant.infer"
    begin = "\n".join(["import pliant", "", reading, _problem_code(subject.known.config)])
    if not subject.has_posterior:
        return {"Run and problem": begin, "History": "print(result.history)"}
    seed = _diagnosis_seed(subject)
    code = {
        "Run and problem": begin,
        "Posterior": f"print(result.posterior.summary(10_000, seed={subject.seed}))",
        "Pair plot": "result.plot().savefig('pairs.png')",
        "Posterior against prior": (
            "from pliant.plots import plot_pairs\n"
            "prior = pliant.Posterior(problem.prior.space, problem.prior).sample(10_000)\n"
            "samples = result.posterior.sample(10_000, seed=result.seed)\n"
            "plot_pairs(samples, reference=prior, reference_name='prior').savefig('prior.png')"
        ),
        "History": "result.plot_history().savefig('history.png')",
    }
    if subject.diagnosis is not None:
        code["Verdict"] = (
            f"diagnosis = pliant.diagnose(result, problem, seed={seed})\nprint(diagnosis)"
        )
        code["Predictive checks, observations and calibration"] = (
            "print(diagnosis.predictive, diagnosis.observations, diagnosis.calibration)\n"
            "diagnosis.plot().savefig('diagnosis.png')"
        )
    return code


def _diagnosis_seed(subject: Subject) -> int:
    seed = (subject.diagnosis or {}).get("seed", 0)
    return seed if isinstance(seed, int) else 0


def _problem_code(config: Mapping[str, Any]) -> str:
    """How to get the problem: a task, or a name of a user's file."""
    target = config.get("target")
    if not isinstance(target, str):
        return "problem = ...  # the problem of the run"
    if ".py" not in target:
        sizes = f"n_obs={config.get('n_obs')!r}, seed={config.get('seed')!r}"
        return f"problem = pliant.tasks.get({target!r}).problem({sizes})"
    path, _, name = target.rpartition(":")
    module, own = PurePath(path).stem, name if name.isidentifier() else "problem"
    if not module.isidentifier():
        return f"problem = ...  # {own} of {target!r}"
    return f"from {module} import {own} as problem"
