"""The HTML of the sections: their order, their numbers, their names as text."""

import itertools
import re

import pytest

from pliant.reporting.content import content_of
from pliant.reporting.sections import modes_parts, run_parts, sections_of
from report_runs import EVIL

pytestmark = pytest.mark.training

ORDER = ["verdict", "problem", "posterior", "pairs", "prior", "history"]
ORDER += ["predictive", "observations", "calibration", "reproduce"]


def test_sections_stand_in_their_order_and_have_headings(run):
    sections = sections_of(content_of(run.subject))
    assert list(sections) == ORDER
    for name, section in sections.items():
        assert section.code.startswith(f'<section id="{name}" aria-labelledby="{name}-title">')
        assert re.findall(r"<h2 ", section.code) == ["<h2 "]
        levels = [int(n) for n in re.findall(r"<h(\d)", section.code)]
        assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_every_figure_has_a_label_and_no_label_is_repeated(run):
    code = "".join(section.code for section in sections_of(content_of(run.subject)).values())
    labels = re.findall(r'role="img" aria-label="([^"]+)"', code)
    assert len(labels) == code.count("<figure") > 5
    assert len(set(labels)) == len(labels)


def test_a_users_names_and_messages_are_text(runs):
    for kind in ("cut_short", "failed"):
        sections = sections_of(content_of(runs[kind].subject)).values()
        code = "".join(section.code for section in sections)
        for raw in ("<script", "<i>", "<b>", EVIL):
            assert raw not in code
    assert "&lt;i&gt;NaN&lt;/i&gt;" in code


def test_a_run_that_has_not_begun_has_all_sections(runs):
    content = content_of(runs["cut_short"].subject)
    empty = {**content, "posterior": None, "checks": None}
    empty["history"] = {"heads": [], "meanings": [], "cells": [], "panels": []}
    sections = sections_of(empty)
    assert list(sections) == ORDER
    assert "No round has given a posterior." in sections["posterior"].code
    assert "There is no diagnosis yet." in sections["verdict"].code
    assert "No round has been finished." in sections["history"].code


def test_the_status_is_told_with_its_remedy(runs):
    code = "".join(part.code for part in run_parts(content_of(runs["failed"].subject)["run"]))
    assert 'class="badge error">failed<' in code
    assert "Fix the simulator" in code


def test_modes_have_colours_and_shares():
    (_, table) = modes_parts(
        [
            {"mode": 1, "share": 0.75, "centre": {"a": 1.0}},
            {"mode": 2, "share": 0.25, "centre": {"a": -1.0}},
        ],
        ["a"],
    )
    assert "75.0%" in table.code
    assert 'class="mode-2"' in table.code
