"""The server answers its own pages, to its own address, and nothing else."""

import http.client
import json
import threading
import time

import pytest

from pliant.reporting.live import Shown
from pliant.reporting.server import LOOPBACK, PageServer


class Fixed:
    """A source with a page of its own."""

    def __init__(self, text):
        self.text = text

    def shown(self):
        if self.text == "broken":
            raise RuntimeError("broken")
        return Shown(f"<p>{self.text}", {"version": self.text, "told": "é"})


@pytest.fixture
def server():
    runs = {"one/two": Fixed("run"), "broken": Fixed("broken")}
    with PageServer(Fixed("first"), runs.get) as server:
        yield server


def ask(server, path, **options):
    answer, body = answer_of(server, path, **options)
    return answer.status, body


def answer_of(server, path, *, method="GET", host=None):
    connection = http.client.HTTPConnection(LOOPBACK, server.port, timeout=10)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", f"{LOOPBACK}:{server.port}" if host is None else host)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def test_pages_and_states(server):
    assert ask(server, "/") == (200, "<p>first")
    status, body = ask(server, "/state")
    assert (status, json.loads(body)["told"]) == (200, "é")
    assert ask(server, "/state?version=first") == (204, "")
    assert ask(server, "/run/one%2Ftwo/") == (200, "<p>run")
    assert server.readers == {"": "first"}
    assert server.address == f"http://127.0.0.1:{server.port}/"


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/config.json",
            "/etc/passwd",
            "/../../etc/passwd",
            "/run/",
            "/run/none/",
            "/run/one/two/",
        ),
        *("/run/../", "/run/one%2Ftwo", "/run/one%2Ftwo/posterior.npz", "/state/x", "*"),
        "http://example.com/etc/passwd",
    ],
)
def test_nothing_else_can_be_had(server, path):
    assert ask(server, path)[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", ""]
)
def test_other_hosts_are_refused(server, host):
    """A name of another site that points here cannot read anything (DNS rebinding)."""
    status, body = ask(server, "/", host=host)
    assert status == 403
    assert "first" not in body


def test_localhost_is_this_server(server):
    assert ask(server, "/", host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_only_get_is_answered(server, method):
    assert ask(server, "/", method=method)[0] == 501


def test_an_error_of_one_page_is_no_end(server):
    assert ask(server, "/run/broken/") == (500, "RuntimeError: broken")
    assert ask(server, "/")[0] == 200


def test_nothing_is_cached_or_framed(server):
    answer, _ = answer_of(server, "/")
    assert answer.getheader("Cache-Control") == "no-store"
    assert answer.getheader("X-Frame-Options") == "DENY"
    assert answer.getheader("X-Content-Type-Options") == "nosniff"


def test_a_port_that_is_taken_is_an_error(server):
    with pytest.raises(OSError, match="in use"):
        PageServer(Fixed("other"), port=server.port)


def test_ctrl_c_ends_it(monkeypatch):
    server = PageServer(Fixed("first"))
    real = server._server.serve_forever

    def interrupted(interval):
        thread = threading.Thread(target=lambda: (time.sleep(0.2), server._server.shutdown()))
        thread.start()
        real(interval)
        raise KeyboardInterrupt

    monkeypatch.setattr(server._server, "serve_forever", interrupted)
    server.forever()
    with pytest.raises(OSError):  # noqa: PT011
        ask(server, "/")
