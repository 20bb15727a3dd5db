"""The sections of a diagnosis."""

import pytest

from pliant.reporting.check_sections import (
    calibration_section,
    observations_section,
    predictive_section,
    verdict_parts,
)
from pliant.reporting.content import content_of

pytestmark = pytest.mark.training


def code_of(parts):
    return "".join(part.code for part in parts)


def test_each_finding_has_its_remedy(run):
    checks = content_of(run.subject)["checks"]
    code = code_of(verdict_parts(checks))
    assert f'class="badge {checks["verdict"]}" id="verdict-badge">' in code
    assert code.count("<tr>") == len(checks["findings"]) + 1
    told = [f for f in checks["findings"] if f["remedy"] and f["level"] not in ("ok", "skipped")]
    assert code.count('class="remedy"') == len(told)


def test_tables_have_all_rows(runs):
    checks = content_of(runs["converged"].subject)["checks"]
    assert code_of(predictive_section(checks)).count("<tr>") == (11 + 1) + (2 + 1)
    assert code_of(observations_section(checks)).count("<tr>") == 30 + 1
    assert code_of(calibration_section(checks)).count("<tr>") == 2 + 1


@pytest.mark.parametrize("section", [predictive_section, observations_section, calibration_section])
def test_what_is_not_there_is_told(section):
    assert "There is no diagnosis yet." in code_of(section(None))
    nothing = {"predictive": None, "observations": None, "calibration": None}
    assert "does not apply" in code_of(section(nothing))
