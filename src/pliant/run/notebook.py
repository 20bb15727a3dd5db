"""A line in the output of a notebook's cell that can be rewritten."""

import sys
from typing import Any

from pliant.problem.markup import paragraph


def in_notebook() -> bool:
    """Whether this code runs in a kernel of Jupyter, whose cells show HTML."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


class NotebookLine:
    """A line below the running cell.

    The text is escaped.
    """

    def __init__(self) -> None:
        self._handle: Any = None

    def write(self, text: str) -> None:
        """Show the text in place of the last one."""
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

        content = HTML(paragraph(text).code)
        if self._handle is None:
            self._handle = display(content, display_id=True)
        else:
            self._handle.update(content)
