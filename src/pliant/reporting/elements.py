"""Elements of HTML. Every text and every attribute is escaped here, and nowhere else."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from pliant.problem.markup import Html

_VOID = {"input", "meta", "br"}


def element(tag: str, /, *children: Html | str, **attributes: Any) -> Html:
    """An element with its children, of which texts are escaped.

    Args:
        tag: Such as ``p``.
        *children: Texts and elements.
        **attributes: An underscore becomes a hyphen, one at the end is left out. True is an
            attribute without a value; None and False leave it out.
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Html(f"<{tag}{given}>")
    return Html(f"<{tag}{given}>{joined(children).code}</{tag}>")


def joined(parts: Iterable[Html | str]) -> Html:
    """Parts one after the other."""
    return Html("".join(part.code if isinstance(part, Html) else escape(part) for part in parts))


def listing(pairs: Iterable[Sequence[str]]) -> Html:
    """Labels with their texts; texts of the same label are lines of one entry."""
    together: dict[str, list[str]] = {}
    for label, text in pairs:
        together.setdefault(label, []).append(text)
    return element(
        "dl",
        *(
            joined([element("dt", label), *(element("dd", text) for text in texts)])
            for label, texts in together.items()
        ),
    )


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[Html | str]],
    *,
    values: Sequence[Sequence[Any]] | None = None,
    titles: Sequence[str] | None = None,
    texts: Iterable[int] = (0,),
    **attributes: Any,
) -> Html:
    """A table whose first column names its rows. It scrolls sideways where there is no room.

    Args:
        caption: What the table shows; readers of screens hear it first.
        heads: The names of the columns.
        rows: Their cells.
        values: The numbers behind the cells. If given, buttons in the heads sort by them.
        titles: The meanings of the heads.
        texts: Columns of texts, which stand on the left; numbers stand on the right.
        **attributes: Of the table.
    """
    left = set(texts)
    kinds = ["text" if i in left else "number" for i in range(len(heads))]
    cells = [
        element(
            "th",
            element("button", head, type="button", data_sort=str(i)) if values else head,
            scope="col",
            class_=kinds[i],
            title=titles[i] if titles else None,
            aria_sort="none" if values else None,
        )
        for i, head in enumerate(heads)
    ]
    body = []
    for number, row in enumerate(rows):
        first, *others = row
        keys = values[number] if values else [None] * len(row)
        body.append(
            element(
                "tr",
                element("th", first, scope="row", class_=kinds[0], data_value=keys[0]),
                *(
                    element("td", cell, class_=kind, data_value=key, data_label=head)
                    for cell, kind, key, head in zip(
                        others, kinds[1:], keys[1:], heads[1:], strict=True
                    )
                ),
            )
        )
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *cells)),
        element("tbody", *body),
        class_="sortable" if values else None,
        **attributes,
    )
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def figure(name: str, title: str, description: str, *, wide: bool = False) -> Html:
    """The place of a chart, with a description for those who do not see it."""
    return element(
        "figure",
        element("figcaption", title),
        element("div", class_="plot", role="img", aria_label=f"{title}. {description}"),
        data_chart=name,
        class_="wide" if wide else None,
    )


def folded(title: str, *parts: Html | str, **attributes: Any) -> Html:
    """Parts that are shown when the title is chosen."""
    return element("details", element("summary", title), *parts, **attributes)


def shown(value: float | None, form: str = ".4g") -> str:
    """A number as text; a dash if there is none."""
    return "-" if value is None else format(value, form)
