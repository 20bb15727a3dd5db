"""HTML for notebooks. Every text is escaped here, so a parameter called ``<script>`` is text."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

_RIGHT = ' style="text-align: right"'
_LEFT = ' style="text-align: left"'


class Html(NamedTuple):
    """A piece of HTML, to be told from text."""

    code: str


def paragraph(text: str) -> Html:
    """A paragraph of text."""
    return Html(f"<p>{escape(text)}</p>")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table of texts, with names on the left and numbers on the right."""
    head = "".join(
        f"<th{_LEFT if i == 0 else _RIGHT}>{escape(h)}</th>" for i, h in enumerate(heads)
    )
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    return Html(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def listing(pairs: Iterable[tuple[str, str]]) -> Html:
    """Labels with their texts, one pair per line."""
    rows = (
        f"<tr><th{_LEFT}>{escape(label)}</th><td{_LEFT}>{escape(text)}</td></tr>"
        for label, text in pairs
    )
    return Html(f"<table><tbody>{''.join(rows)}</tbody></table>")


def folded(title: str, *parts: Html) -> Html:
    """Parts that are shown when the title is clicked."""
    return Html(f"<details><summary>{escape(title)}</summary>{_joined(parts)}</details>")


def page(title: str, *parts: Html) -> str:
    """The HTML of an object: its title in bold, and its parts."""
    return f"<div><strong>{escape(title)}</strong>{_joined(parts)}</div>"


def _joined(parts: Iterable[Html]) -> str:
    return "".join(part.code for part in parts)


def _cells(row: Sequence[str]) -> str:
    first, *others = row
    cells = "".join(f"<td{_RIGHT}>{escape(text)}</td>" for text in others)
    return f"<th{_LEFT}>{escape(first)}</th>{cells}"
