"""Text from files and programs, made safe for a terminal."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    r"""The text with its control characters as ``\x1b``, which then cannot move the cursor."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
