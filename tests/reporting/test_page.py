"""The whole page: one file, small, that nothing can be smuggled into."""

import builtins
import json
import re

import pytest

from pliant.reporting import page as pages
from pliant.reporting.content import content_of
from pliant.reporting.page import (
    as_json,
    asset,
    charting_library,
    live_state,
    report_page,
    state_of,
)

MOST_BYTES = 3_000_000
EVIL = "</script><!--<script>&\u2028\u2029"


def test_json_in_a_script_holds_no_markup():
    text = as_json({EVIL: [EVIL]})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {EVIL: [EVIL]}
    with pytest.raises(ValueError, match="JSON"):
        as_json(float("nan"))


@pytest.mark.training
def test_a_page_is_one_small_file_without_any_address(run):
    text = run.page.read_text()
    assert len(text.encode()) < MOST_BYTES
    outside = text.replace(charting_library(), "")
    assert not re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?!#|data:,)\w""", outside)
    assert "http" not in re.sub(r"http-equiv", "", outside)


@pytest.mark.training
def test_a_page_of_many_parameters_stays_small(runs):
    content = content_of(runs["cut_short"].subject)
    posterior = content["posterior"]
    wide = {
        **posterior,
        "names": [f"parameter {i}" for i in range(60)],
        "rows": posterior["rows"][:1] * 1000,
        "marginals": posterior["marginals"][:1] * 60,
        "draws": {kind: [d[0][:500]] * 60 for kind, d in posterior["draws"].items()},
    }
    assert len(report_page({**content, "posterior": wide}).encode()) < MOST_BYTES


@pytest.mark.training
def test_only_the_scripts_of_the_page_may_run(run):
    text = run.page.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert "default-src &#x27;none&#x27;" in policy
    assert "connect-src &#x27;none&#x27;" in policy
    (allowed,) = re.findall(r"script-src (.*?); style-src", policy)
    assert allowed.count("sha256-") == 2
    assert "unsafe" not in allowed
    assert len(re.findall(r"<script", text)) == 3


@pytest.mark.training
def test_a_state_has_a_version_of_all_that_is_shown(runs):
    content = content_of(runs["converged"].subject)
    one, same = state_of(content), state_of(content)
    other = state_of({**content, "title": "another"})
    assert one["version"] == same["version"] != other["version"]
    live = live_state(content, told="Running", live=True)
    assert (live["live"], live["told"]) == (True, "Running")
    assert next(iter(live["sections"])) == "verdict"
    assert "connect-src &#x27;self&#x27;" in report_page(content, live=True)


def test_the_charting_library_is_kept_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "new"))
    code = charting_library.__wrapped__()
    (kept,) = (tmp_path / "new").iterdir()
    assert kept.read_text() == code
    assert re.fullmatch(r"vega-[\w.]+\.js", kept.name)
    monkeypatch.setenv("PLIANT_CACHE", "/dev/null/none")  # a cache that cannot be written
    assert charting_library.__wrapped__() == code


def test_a_missing_library_is_one_line(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **options):
        if name == "vl_convert":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install"):
        charting_library.__wrapped__()


def test_a_library_that_cannot_be_inlined_is_refused(tmp_path, monkeypatch):
    import vl_convert

    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda snippet: "'</SCRIPT>'")
    with pytest.raises(ImportError, match="cannot be inlined"):
        charting_library.__wrapped__()
    assert not list(tmp_path.iterdir())


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def themes():
    """The colours of each block of the style sheet that sets them."""
    blocks = re.findall(r"\{([^{}]*--paper: [^{}]*)\}", asset("page.css"))
    return [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in blocks]


def test_colours_have_enough_contrast():
    """WCAG 2.1 AA: 4.5 for text, 3 for graphics."""
    found = themes()
    assert len(found) == 4  # light, dark by the system, dark by choice, printed
    assert found[1] == found[2]
    assert found[0] == found[3]
    texts = ("ink", "muted", "link", "good", "fair", "bad")
    for theme in found:
        for name in texts:
            assert contrast(theme[name], theme["paper"]) >= 4.5, name
            assert contrast(theme[name], theme["panel"]) >= 4.5, name
        for name in (
            "posterior",
            "prior",
            "reference",
            "truth",
            *(f"mode-{i}" for i in range(1, 7)),
        ):
            assert contrast(theme[name], theme["paper"]) >= 3, name


def test_the_mark_of_a_page_is_the_one_that_ownership_knows():
    from pliant.run import ownership

    assert ownership._PAGE.decode() == f'data-made-by="{pages.GENERATOR}"'
