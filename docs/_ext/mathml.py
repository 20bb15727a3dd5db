"""Equations as MathML, made when the site is built: no script and no font is fetched."""

from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def visit_inline(writer: Any, node: nodes.math) -> None:
    """Write an equation inside a line."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.math_block) -> None:
    """Write an equation of its own line, with its number if it has one."""
    number = f'<span class="eqno">({escape(str(node["number"]))})</span>' if node["number"] else ""
    identity = f' id="equation-{escape(node["label"])}"' if node["label"] else ""
    math = convert(node.astext(), display="block")
    writer.body.append(f'<div class="math"{identity}>{math}{number}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer under the name of this module."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
