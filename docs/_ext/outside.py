"""Files of the repository that are not pages: the changelog, and files that pages link to.

Links such as ``../benchmarks/accuracy.md`` work in the repository as they are. On the site, the
file is copied and offered.
"""

import re
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_OUTSIDE = re.compile(r"\]\((\.\./(?:benchmarks|src|SECURITY)[^)#]*)\)")


def read_source(app: Any, name: str, source: list[str]) -> None:
    """Change the text of a page before it is parsed."""
    if name == "changelog":
        text = (_ROOT / "CHANGELOG.md").read_text()
        source[0] = text.replace("](docs/", "](").replace("](SECURITY.md)", "](../SECURITY.md)")
    if "/" not in name:
        source[0] = _OUTSIDE.sub(r"](path:\1)", source[0])


def setup(app: Any) -> dict[str, bool]:
    """Read every page's source."""
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
