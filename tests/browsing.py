"""Pages in Chromium, for the tests of reports and of the command.

Where no Chromium is installed, these tests are skipped, and say so.
"""

import shutil
from contextlib import contextmanager

import pytest

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
HEAD = "document.querySelector('#live').innerText"
GONE = "net::ERR_CONNECTION_REFUSED"  # what the browser says of a server that has ended
LIMIT = 60_000  # milliseconds: machines are busy


@contextmanager
def chromium():
    """The browser."""
    names = "chromium", "chromium-browser", "google-chrome"
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no Chromium is installed (Debian: apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@contextmanager
def visiting(browser):
    """A function that opens a page. At the end, nothing went wrong on any of them."""
    told, contexts = [], []

    def open_page(address, asked=None, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(LIMIT)
        page = context.new_page()
        page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("dialog", lambda dialog: told.append("dialog"))
        page.on("request", lambda request: None if asked is None else asked.append(request.url))
        page.goto(address)
        drawn(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in told if GONE not in text] == []


def drawn(page, but=None):
    """Wait until all charts are drawn; ``but`` is the version of a state before."""
    page.wait_for_function(
        "but => { const d = document.documentElement.dataset.drawn; return d && d !== but }",
        arg=but,
    )


def head(page, start):
    """Wait until the head of a page that follows a run starts with these words."""
    page.wait_for_function(f"start => {HEAD}.startsWith(start)", arg=start)


def cells(page, table):
    """The texts of a table's rows."""
    return page.eval_on_selector_all(
        f"#{table} tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )
