from typer.testing import CliRunner

from pliant.bench.figures import FIGURES
from pliant.cli import app

WANTED = {"slcp_n2", "slcp_n100", "furuta_n2", "furuta_n100"}  # what the grid has no runs for


def test_every_figure_is_drawn_in_both_formats_or_says_what_it_wants(made_up):
    out, _ = made_up
    result = CliRunner().invoke(app, ["bench", "figures", str(out)])
    assert result.exit_code == 0, result.output
    lines = dict(line.split(": ", 1) for line in result.output.splitlines())
    assert set(lines) == set(FIGURES)
    assert {name for name, line in lines.items() if line.startswith("skipped")} == WANTED
    assert "PLI-MMD, APT, PMC-ABC-MMD on slcp with N = 2" in lines["slcp_n2"]
    for name in set(FIGURES) - WANTED:
        assert (out / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
