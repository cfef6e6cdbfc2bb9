"""The page of a session: only with its token, from its host, and on this machine."""

import http.client
import json
from threading import Thread

import numpy as np
import pytest

from frobmetric.app.teaching import TeachingSession
from frobmetric.app.teaching.items import Items

pytest.importorskip("jinja2")

from frobmetric.app.teaching.server import MOST_BYTES, TeachingServer


@pytest.fixture
def server():
    X = np.random.default_rng(0).normal(size=(8, 2))
    items = Items(X, [f"<b>{i}</b>" for i in range(8)], ["</script>", "b"])
    saved = []
    session = TeachingSession(X)
    with TeachingServer(session, items, lambda: saved.append(session.answers)) as made:
        made.saved = saved
        thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, *, method="GET", body=None, **headers):
    """Return status, headers and content of a reply."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    try:
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


def click(server, **content):
    body = json.dumps(content)
    status, _, reply = ask(server, f"/{server.token}/act", method="POST", body=body)
    return status, json.loads(reply) if status == 200 else reply.decode()


def test_only_this_machine_is_bound(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert len(server.token) >= 32
    assert server.token in server.address


def test_the_page_is_given_with_the_token_alone(server):
    status, headers, page = ask(server, f"/{server.token}/")
    assert status == 200
    assert headers["Referrer-Policy"] == "no-referrer"
    assert b"more like this one" in page
    for path in ("/", "/state", f"/{server.token[:-1]}/", "/wrong/state", "/%ff/"):
        assert ask(server, path)[0] == 403
    assert ask(server, "/wrong/act", method="POST", body="{}")[0] == 403
    assert ask(server, f"/{server.token}/other")[0] == 404
    assert server.token.encode() not in page


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", ""])
def test_other_hosts_are_refused(server, host):
    path, host = f"/{server.token}/state", host.format(port=server.server_port)
    assert ask(server, path, Host=host)[0] == 403


def test_other_origins_are_refused(server):
    path, port = f"/{server.token}/state", server.server_port
    assert ask(server, path, Origin="http://evil.example")[0] == 403
    assert ask(server, path, Origin=f"http://127.0.0.1:{port}")[0] == 200


def test_clicks_are_saved_before_the_reply(server):
    status, state = click(server, serial=0, action="left")
    assert (status, state["n_answers"], state["serial"]) == (200, 1, 1)
    assert server.saved[-1] == server.session.answers
    status, again = click(server, serial=0, action="left")  # a second click on the same question
    assert again["n_answers"] == 1
    assert click(server, serial=1, action="skip")[1]["n_answers"] == 1
    assert click(server, serial=2, action="undo")[1]["serial"] == 3
    assert click(server, serial=3, action="undo")[1]["n_answers"] == 0


@pytest.mark.parametrize("body", ["", "{}", "[]", "null", '{"serial": 0, "action": "quit"}'])
def test_bad_requests_are_refused(server, body):
    assert ask(server, f"/{server.token}/act", method="POST", body=body)[0] == 400
    assert server.session.answers == ()


def test_long_requests_are_refused(server):
    body = " " * (MOST_BYTES + 1)
    assert ask(server, f"/{server.token}/act", method="POST", body=body)[0] == 400


def test_an_error_of_saving_is_told(server):
    def fail():
        raise OSError("the disk is full")

    server.save = fail
    status, text = click(server, serial=0, action="right")
    assert (status, text) == (500, "the disk is full")
