"""A small server on the loopback address: pages of runs and their states, and nothing else.

It answers GET only, knows a fixed table of addresses, and never opens a file by a name that a
request holds. A request whose Host is not this server is refused: a page of another site could
otherwise read runs through a name that it lets point here (DNS rebinding).
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pliant.reporting.live import Shown, Source

LOOPBACK = "127.0.0.1"

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_HTML, _JSON, _TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"


class PageServer:
    """Serves pages. Use it in a ``with`` block, or call ``forever``.

    Args:
        first: What ``/`` shows.
        find: Finds the run with a name, which ``/run/NAME/`` shows; None if there is none.
        port: The port; 0 lets the system choose.

    Raises:
        OSError: If the port is in use.
    """

    def __init__(
        self,
        first: Source,
        find: Callable[[str], Source | None] = lambda name: None,
        *,
        port: int = 0,
    ):
        self._first, self._find = first, find
        self._seen: dict[str, str] = {}
        self._server = ThreadingHTTPServer((LOOPBACK, port), self._handler())
        self._server.daemon_threads = True
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """Where the server listens."""
        return self._server.server_address[1]

    @property
    def address(self) -> str:
        """What a browser opens."""
        return f"http://{LOOPBACK}:{self.port}/"

    @property
    def readers(self) -> dict[str, str]:
        """For each page that is open, or was, the version of the state that it has."""
        return dict(self._seen)

    def __enter__(self) -> "PageServer":
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def forever(self) -> None:
        """Serve until Ctrl-C."""
        try:
            self._server.serve_forever(0.1)
        except KeyboardInterrupt:
            pass
        finally:
            self._server.server_close()

    def answer(self, path: str, host: str | None) -> tuple[HTTPStatus, str, str]:
        """Status, type and body of the answer to a request.

        Args:
            path: With its query.
            host: The header Host.
        """
        if host not in (f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"):
            return HTTPStatus.FORBIDDEN, _TEXT, "This server answers to its own address only."
        parts = urlsplit(path)
        place, _, last = parts.path.rpartition("/")
        source = self._source(place)
        if source is None or last not in ("", "state"):
            return HTTPStatus.NOT_FOUND, _TEXT, "There is no such page."
        shown = source.shown()
        if not last:
            return HTTPStatus.OK, _HTML, shown.page
        return self._state(place, shown, parse_qs(parts.query).get("version", [""])[0])

    def _state(self, place: str, shown: Shown, version: str) -> tuple[HTTPStatus, str, str]:
        self._seen[place] = shown.state["version"]
        if version == shown.state["version"]:
            return HTTPStatus.NO_CONTENT, _JSON, ""
        return HTTPStatus.OK, _JSON, json.dumps(shown.state)

    def _source(self, place: str) -> Source | None:
        if place == "":
            return self._first
        name = place.removeprefix("/run/")
        return self._find(unquote(name)) if name != place and "/" not in name else None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class PageHandler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                try:
                    answer = server.answer(self.path, self.headers.get("Host"))
                except Exception as error:  # one page that fails must not end the others
                    text = f"{type(error).__name__}: {error}"
                    answer = HTTPStatus.INTERNAL_SERVER_ERROR, _TEXT, text
                self._send(*answer)

            def _send(self, status: HTTPStatus, kind: str, body: str) -> None:
                content = body.encode()
                self.send_response(status)
                for name, value in _HEADERS.items():
                    self.send_header(name, value)
                if status is not HTTPStatus.NO_CONTENT:
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if content:
                    self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: the terminal belongs to the run."""

        return PageHandler


@contextmanager
def serving(source: Source, *, port: int = 0) -> Iterator[PageServer]:
    """A server of one page, in a thread, for the time of the block."""
    with PageServer(source, port=port) as server:
        yield server
