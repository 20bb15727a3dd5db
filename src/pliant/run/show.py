"""How a result and its parts look as text and in notebooks."""

from typing import TYPE_CHECKING

from pliant.problem import markup

if TYPE_CHECKING:
    from pliant.problem.space import Space
    from pliant.run.history import History
    from pliant.run.posterior import Posterior, Summary
    from pliant.run.result import Result

_MOST_NAMES = 8


def parameters_text(space: "Space") -> str:
    """The names of the parameters, with the shapes of vectors and matrices."""
    texts = [
        f"{name}{list(shape)}" if shape else name
        for name, shape in zip(space.names or ("theta",), space.shapes, strict=True)
    ]
    more = len(texts) - _MOST_NAMES
    return ", ".join(texts[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def counted(n: int, noun: str) -> str:
    """``1 round``, ``2,000 rounds``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def summary_html(summary: "Summary") -> markup.Html:
    """The table of a summary."""
    rows = (
        [name, *(f"{number:.4g}" for number in numbers)]
        for name, *numbers in zip(*summary[:-1], strict=True)
    )
    return markup.table(["", "mean", "sd", "5 %", "50 %", "95 %"], rows)


def posterior_html(posterior: "Posterior") -> str:
    """The names of the parameters, and the table of their marginals."""
    return markup.page(repr(posterior), summary_html(posterior.summary()))


def history_html(history: "History") -> markup.Html:
    """The table of all rounds; columns that hold nothing are left out."""
    columns = history.filled
    return markup.table(columns, history.cells(columns))


def result_lines(result: "Result") -> list[str]:
    """The end of the run, its cost, its posterior and its check."""
    cost = [counted(len(result.history), "round")]
    if result.history:
        last = result.history[-1]
        cost.append(counted(int(last.get("simulations", 0)), "simulation"))
        cost.append(f"{last.get('seconds', 0.0):.0f} s")
    lines = [
        f"{result.status}: {result.message}",
        f"{type(result.method).__name__}, seed {result.seed}: {', '.join(cost)}",
        repr(result.posterior),
    ]
    if result.check is not None:
        lines.append(result.check.message)
    return lines


def result_html(result: "Result") -> str:
    """The lines of a result, the table of the posterior, failures, and the history folded."""
    ended, cost, posterior, *check = result_lines(result)
    parts = [markup.paragraph(ended), markup.paragraph(cost)]
    if result.reason:
        parts.append(markup.paragraph(result.reason))
    parts += [markup.paragraph(text) for text in check]
    parts += [markup.paragraph(posterior), summary_html(result.posterior.summary())]
    parts += [markup.paragraph(f"failed draws: {failure}") for failure in result.failures]
    if result.history:
        rounds = counted(len(result.history), "round")
        parts.append(markup.folded(f"History: {rounds}", history_html(result.history)))
    return markup.page("Result", *parts)
