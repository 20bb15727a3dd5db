import pytest

from pliant.diagnosis.finding import Finding, Level, Verdict, skipped, verdict_of


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [
        ([], "sound"),
        (["ok", "note", "skipped"], "sound"),
        (["ok", "doubtful", "note"], "doubtful"),
        (["doubtful", "unsound", "ok"], "unsound"),
    ],
)
def test_the_worst_finding_decides(levels, verdict):
    found = verdict_of([Finding("check", Level(level), "text") for level in levels])
    assert found == verdict
    assert found.meaning.endswith(".")


def test_a_finding_is_json():
    finding = Finding("fit", Level.DOUBTFUL, "Too wide.", "More rounds.", 0.8, 0.7)
    assert finding.as_dict() == {
        **{"check": "fit", "level": "doubtful", "text": "Too wide.", "remedy": "More rounds."},
        **{"number": 0.8, "limit": 0.7},
    }
    assert type(finding.as_dict()["level"]) is str
    assert skipped("fit", "Nothing learned.").level == "skipped"
    assert Verdict("sound") == "sound"
