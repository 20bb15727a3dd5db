"""Text of a stranger cannot control the terminal."""

import pytest

from pliant.cli.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("a\rb\x7f\x9bm", r"a\x0db\x7f\x9bm"),
        ("two\tcells\nand a line", "two\tcells\nand a line"),
        ("θ ≥ 0,5 µm", "θ ≥ 0,5 µm"),
        ("", ""),
    ],
)
def test_control_characters_are_written_out(text, shown):
    assert printable(text) == shown
