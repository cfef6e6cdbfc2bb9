"""A local page that asks the questions of a session; only this machine can reach it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from ..pages.page import render
from .items import Items
from .session import CHECK, ENOUGH_CHECKS, LAST, TeachingSession

#: Address that no other machine can reach.
LOOPBACK = "127.0.0.1"
#: Names of this machine that a browser may have been given; others are a trick of a foreign page.
HOSTS = (LOOPBACK, "localhost")
#: Largest number of bytes of a request.
MOST_BYTES = 1000
#: Seconds that a request may take to arrive.
PATIENCE = 30
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class TeachingServer(ThreadingHTTPServer):
    """Serve one session on the loopback address, below a random token.

    Parameters
    ----------
    session : TeachingSession
    items : Items
    save : callable
        Function without arguments that is called after each change, before the page is told.
    port : int, default=0
        Port; 0 is any that is free.
    title : str
    """

    daemon_threads = True

    def __init__(
        self,
        session: TeachingSession,
        items: Items,
        save: Callable[[], None],
        *,
        port: int = 0,
        title: str = "Teach a metric",
    ) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.session, self.items, self.save = session, items, save
        self.token, self.lock = secrets.token_urlsafe(24), Lock()
        self.html = render("teach.html", title=title, scripts=["teach.js"]).encode()
        self.serial = 0

    @property
    def address(self) -> str:
        """Address of the page, with the token."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    def act(self, serial: int, action: str) -> dict[str, Any]:
        """Do the action of a click, unless the page shows an older question; return the state."""
        with self.lock:
            if serial == self.serial:
                ACTIONS[action](self.session)
                self.serial += 1
                self.save()
            return self._describe()

    def describe(self) -> dict[str, Any]:
        """Return the content of the page."""
        with self.lock:
            return self._describe()

    def _describe(self) -> dict[str, Any]:
        state, progress = self.session.state, self.session.progress()
        looks = [self.items.look(i) for i in state.question or ()]
        return {
            "serial": self.serial,
            "question": looks,
            "n_answers": len(state.answers),
            "can_undo": self.session.can_undo,
            "agreement": progress.agreement and vars(progress.agreement),
            "euclid": progress.euclid and progress.euclid.value,
            "changed": progress.changed,
            "has_settled": progress.has_settled,
            "history": progress.history,
            "n_first": CHECK * ENOUGH_CHECKS,
            "n_last": LAST,
        }


#: Actions that a page can request.
ACTIONS: dict[str, Callable[[TeachingSession], None]] = {
    "left": lambda session: session.answer(True),
    "right": lambda session: session.answer(False),
    "skip": lambda session: session.skip(),
    "undo": lambda session: session.undo(),
}


class _Handler(BaseHTTPRequestHandler):
    """Answer requests that have the token and come from a page of this server."""

    server: TeachingServer
    timeout = PATIENCE
    server_version, sys_version = "frobmetric", ""

    def do_GET(self) -> None:
        name = self._allowed()
        if name == "":
            self._reply(HTTPStatus.OK, self.server.html, "text/html; charset=utf-8")
        elif name == "state":
            self._reply_with(self.server.describe)
        elif name is not None:
            self._refuse(HTTPStatus.NOT_FOUND, "no such page")

    def do_POST(self) -> None:
        name = self._allowed()
        if name is None:
            return
        if name != "act":
            self._refuse(HTTPStatus.NOT_FOUND, "no such page")
        elif (click := self._read()) is None:
            self._refuse(HTTPStatus.BAD_REQUEST, f"expected one of {sorted(ACTIONS)} and a serial")
        else:
            self._reply_with(lambda: self.server.act(*click))

    def _allowed(self) -> str | None:
        """Return the path after the token; None if the request was refused."""
        host, _, port = self.headers.get("Host", "").partition(":")
        origin = self.headers.get("Origin")
        token, _, name = self.path.removeprefix("/").partition("/")
        if host not in HOSTS or port != str(self.server.server_port):
            reason = "wrong host"
        elif origin is not None and origin != f"http://{host}:{port}":
            reason = "wrong origin"
        elif not secrets.compare_digest(token.encode(), self.server.token.encode()):
            reason = "wrong token; open the address that the command printed"
        else:
            return name
        self._refuse(HTTPStatus.FORBIDDEN, reason)
        return None

    def _read(self) -> tuple[int, str] | None:
        """Return serial and action of a request; None if it is malformed."""
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > MOST_BYTES:
            self.close_connection = True
            return None
        try:
            click = json.loads(self.rfile.read(int(size)))
            serial, action = click["serial"], click["action"]
        except (ValueError, TypeError, KeyError):
            return None
        return (serial, action) if isinstance(action, str) and action in ACTIONS else None

    def _reply_with(self, describe: Callable[[], dict[str, Any]]) -> None:
        """Reply with a description, or with the reason why there is none."""
        try:
            content = describe()
        except (ValueError, OSError) as error:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        else:
            self._reply(HTTPStatus.OK, json.dumps(content).encode(), "application/json")

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self._reply(status, reason.encode(), "text/plain; charset=utf-8")

    def _reply(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in (HEADERS | {"Content-Type": kind}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Write no line for each request: the address has the token."""
