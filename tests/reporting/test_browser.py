"""Reports in a real browser: every control, every number, no error, and no request."""

import itertools
import json
import re
import threading
import time

import numpy as np
import pytest

import pliant
from browsing import LIMIT, cells, drawn, head
from pliant._files import read_arrays, read_json
from pliant.densities.modes import find_modes
from pliant.problem.samples import as_table
from pliant.reporting.grid import GridRow, LiveGrid
from pliant.reporting.live import LiveRun
from pliant.reporting.server import PageServer
from pliant.reporting.subject import Known
from pliant.run.history import History
from report_runs import EVIL, method, problems

pytestmark = pytest.mark.training


def test_the_numbers_are_those_of_the_files(visit, run):
    asked = []
    page = visit(run.page.as_uri(), asked)
    names, values = as_table(read_arrays(run.folder / "samples.npz"), run.problem.prior.space.names)
    quantiles = np.quantile(values, [0.025, 0.05, 0.5, 0.95, 0.975], axis=0)
    for i, row in enumerate(cells(page, "posterior-table")):
        column = values[:, i]
        numbers = [column.mean(), column.std(), *quantiles[:, i]]
        assert row[:8] == [names[i], *(f"{x:.4g}" for x in numbers)]
        assert row[8] == f"{column.std() / 100:.2g}"
    rounds = read_json(run.folder / "history.json")["rounds"]
    page.click("#history summary")
    expected = History(rounds)
    assert cells(page, "history-table") == expected.cells(expected.filled)
    found = read_json(run.folder / "diagnosis.json")
    assert page.inner_text("#verdict-badge") == found["verdict"]
    told = [[row[0], row[1], row[3], row[4]] for row in cells(page, "findings")]
    assert told == [
        [
            f["check"],
            f["level"],
            *("-" if x is None else f"{x:.3g}" for x in (f["number"], f["limit"])),
        ]
        for f in found["findings"]
    ]
    check_data_tables(page, found)
    assert asked == [run.page.as_uri()]


def check_data_tables(page, found):
    """Observations and statistics are those of the diagnosis, if it could compare any."""
    observations, statistics = found["observations"], found["predictive"]
    if observations is None:
        assert statistics is None
        assert page.inner_text("#observations").endswith("See the verdict.")
        return
    shown = [[row[0], row[1], row[2]] for row in cells(page, "observations-table")]
    columns = zip(*(observations[n] for n in ("index", "p_value", "adjusted")), strict=True)
    assert shown == [[str(i), f"{p:.2g}", f"{a:.2g}"] for i, p, a in columns]
    by_name = dict(zip(statistics["names"], range(len(statistics["names"])), strict=True))
    for row in cells(page, "statistics-table"):
        i = by_name[row[0]]
        parts = [statistics[key][i] for key in ("observed", "low", "high")]
        assert row[1:4] == [f"{x:.4g}" for x in parts]
        assert row[4] == f"{statistics['deviation'][i]:.3g}"


def test_every_control_works(visit, run):
    page = visit(run.page.as_uri())
    for button in page.query_selector_all("thead button"):
        head = button.evaluate_handle("b => b.closest('th')")
        button.click()
        assert head.evaluate("th => th.ariaSort") == "ascending"
        button.evaluate("b => b.click()")
        assert head.evaluate("th => th.ariaSort") == "descending"
    page.click("#posterior-table thead button[data-sort='1']")
    means = [float(row[1]) for row in cells(page, "posterior-table")]
    assert means == sorted(means)
    for box in page.query_selector_all("#pair-controls input"):
        before = box.is_checked()
        box.click()
        assert box.is_checked() != before
        box.click()
    for button in page.query_selector_all("button.copy"):
        button.click()
    for summary in page.query_selector_all("summary"):
        summary.click()
    for link in page.query_selector_all("nav a"):
        assert page.query_selector(link.get_attribute("href"))
        link.click()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper
    charts = page.query_selector_all("figure[data-chart]")
    assert len(charts) > 5
    for chart in charts:
        assert chart.query_selector("svg .mark-group"), chart.get_attribute("data-chart")


def test_the_pair_plot_shows_what_is_chosen(visit, runs):
    page = visit(runs["converged"].page.as_uri())
    circles = "figure[data-chart=pairs] .mark-symbol path"

    def count(n):
        page.wait_for_function(
            "([s, n]) => document.querySelectorAll(s).length === n", arg=[circles, n]
        )

    count(1000 + 500 + 1)  # posterior, exact posterior and truth, in one cell
    page.check("#pair-controls input[data-layer=prior]")
    count(2000 + 500 + 1)
    page.uncheck("#pair-controls input[data-layer=reference]")
    page.uncheck("#pair-controls input[data-layer=truth]")
    count(2000)
    page.uncheck("#pair-controls input[data-parameter='1']")
    count(0)  # a single parameter has a histogram only
    page.check("#pair-controls input[data-parameter='1']")
    page.uncheck("#pair-controls input[data-layer=prior]")
    count(1000)


def test_hovering_shows_values_and_names_as_text(visit, runs):
    page = visit(runs["cut_short"].page.as_uri())
    page.locator("figure[data-chart=pairs]").scroll_into_view_if_needed()
    page.locator("figure[data-chart=pairs] .mark-symbol path").last.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    text = page.inner_text("#vg-tooltip-element")
    assert EVIL in text
    assert re.search(r"-?\d\.\d", text)
    assert page.evaluate("document.scripts.length") == 3
    assert page.locator("figure[data-chart=pairs] text", has_text="<script>").count() > 0


def test_modes_have_their_colours(visit, runs):
    page = visit(runs["multimodal"].page.as_uri())
    values = read_arrays(runs["multimodal"].folder / "samples.npz")["mu"][::10]
    labels = find_modes(np.asarray(values))
    counts = [np.sum(labels == mode) for mode in range(2)]
    assert [row[1] for row in cells(page, "modes")] == [f"{n / 1000:.1%}" for n in counts]
    for mode, n in enumerate(counts, 1):
        selector = f"figure[data-chart=pairs] path[fill='var(--mode-{mode})']"
        assert page.locator(selector).count() == n


def test_it_is_accessible(visit, run):
    page = visit(run.page.as_uri())
    levels = page.eval_on_selector_all("h1, h2, h3, h4", "hs => hs.map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert page.eval_on_selector_all(
        "[role=img]", "ps => ps.every(p => p.getAttribute('aria-label'))"
    )
    ids = page.eval_on_selector_all("[id]", "es => es.map(e => e.id)")
    assert len(set(ids)) == len(ids)
    assert page.eval_on_selector_all("input", "is => is.every(i => i.labels.length === 1)")
    assert page.eval_on_selector_all("table", "ts => ts.every(t => t.caption)")
    assert page.get_attribute("html", "lang") == "en"


def test_the_tab_key_reaches_every_control(visit, runs):
    page = visit(runs["failed"].page.as_uri())
    wanted = page.locator("a, button, input:enabled, summary").count()
    page.evaluate("window.seen = new Set()")
    for _ in range(3 * wanted):
        page.keyboard.press("Tab")
        page.evaluate("window.seen.add(document.activeElement)")
    reached = page.evaluate(
        "[...window.seen].filter(e => e.matches('a, button, input, summary')).length"
    )
    assert reached == wanted


def test_it_fits_a_phone_and_paper_and_the_dark(visit, runs):
    page = visit(runs["cut_short"].page.as_uri(), viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    dark = visit(runs["cut_short"].page.as_uri(), color_scheme="dark")
    assert dark.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    dark.emulate_media(media="print")
    assert dark.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not dark.is_visible("nav")
    assert not dark.is_visible("footer")
    assert dark.pdf().startswith(b"%PDF")


def test_the_longest_table_fits_on_paper(visit, runs):
    """A wider page would be shrunk as a whole, or cut. A4 has 680 pixels between its margins."""
    page = visit(runs["multimodal"].page.as_uri(), viewport={"width": 680, "height": 1000})
    page.emulate_media(media="print")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert page.locator("#history-table thead th").count() > 15
    rights = page.eval_on_selector_all(
        "main *", "es => es.map(e => e.getBoundingClientRect().right)"
    )
    assert max(rights) <= 680


def test_the_copy_button_covers_no_code_on_a_phone(visit, runs):
    page = visit(runs["failed"].page.as_uri(), viewport={"width": 360, "height": 740})
    for block in page.query_selector_all(".code"):
        button, code = (block.query_selector(s).bounding_box() for s in ("button", "pre"))
        assert button["y"] + button["height"] <= code["y"]


def test_without_scripts_all_tables_are_there(browser, runs):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(runs["cut_short"].page.as_uri())
    assert page.locator("#posterior-table tbody tr").count() == 2
    assert "need JavaScript" in page.inner_text("body")
    context.close()


def test_a_run_is_followed_round_by_round(visit, tmp_path):
    problem, folder, go = problems()["cut_short"], tmp_path / "run", threading.Semaphore(0)

    asked = []

    def wait(row, posterior):
        go.acquire(timeout=LIMIT / 1000)

    options = {"seed": 3, "folder": folder, "progress": False, "callback": wait}
    thread = threading.Thread(target=pliant.infer, args=(problem, method()), kwargs=options)
    with PageServer(LiveRun(folder, lambda ended: Known(problem))) as server:
        thread.start()
        while not (folder / "rounds" / "001.npz").is_file():
            time.sleep(0.05)
        page = visit(server.address, asked)
        version = page.get_attribute("html", "data-drawn")
        assert len(cells(page, "history-table")) == 1
        assert page.inner_text("#live") == "Running: 1 round of 3 done."
        first = cells(page, "posterior-table")
        page.uncheck("#pair-controls input[data-parameter='1']")
        go.release()
        drawn(page, version)
        page.wait_for_function(
            "() => document.querySelectorAll('#history-table tbody tr').length === 2"
        )
        assert page.inner_text("#live") == "Running: 2 rounds of 3 done."
        assert cells(page, "posterior-table") != first
        assert not page.is_checked("#pair-controls input[data-parameter='1']")  # as it was left
        go.release()
        go.release()
        head(page, "The run has ended")
        thread.join()
        result = pliant.load(folder)
        values = as_table(result.posterior.sample(10_000, seed=3), problem.prior.space.names)[1]
        assert [row[1] for row in cells(page, "posterior-table")] == [
            f"{x:.4g}" for x in values.mean(axis=0)
        ]
        assert all(url.startswith(server.address) for url in asked)
    head(page, "The server has ended")
    page.context.close()


def test_a_grid_is_followed(visit, runs):
    names = list(runs)
    rows = [GridRow(name, "task", "pli", 20, 0, "waiting", "") for name in names]
    sources = {n: LiveRun(r.folder, lambda ended, r=r: Known(r.problem)) for n, r in runs.items()}
    with PageServer(LiveGrid("five", lambda: rows), sources.get) as server:
        page = visit(server.address)
        assert [row[5] for row in cells(page, "grid")] == ["waiting"] * 5
        version = page.get_attribute("html", "data-drawn")
        rows[0] = rows[0]._replace(state="finished", note="converged")
        drawn(page, version)
        assert cells(page, "grid")[0][5:] == ["finished", "converged"]
        page.click("#grid a")
        drawn(page)
        assert page.inner_text("#verdict-badge") == runs[names[0]].subject.diagnosis["verdict"]
        json.loads(page.inner_text("#state"))
