"""A simulated person teaches a metric in a real browser."""

from threading import Thread

import numpy as np
import pytest

from browsers import headless_browser
from frobmetric import load
from frobmetric.app.teaching import TeachingSession
from frobmetric.app.teaching.items import Items
from frobmetric.app.teaching.storage import read_answers, save_session

pytestmark = pytest.mark.slow
pytest.importorskip("jinja2")

HOSTILE = "</script><script>document.title='owned'</script>"


@pytest.fixture
def browser():
    with headless_browser() as found:
        yield found


def test_ten_questions(browser, tmp_path):
    from frobmetric.app.teaching.server import TeachingServer

    X = np.random.default_rng(0).normal(size=(12, 3))
    items = Items(X, [f"{HOSTILE} {i}" for i in range(12)], [HOSTILE, "b", "c"])
    session, files = TeachingSession(X), (tmp_path / "a.csv", tmp_path / "m.safetensors")
    with TeachingServer(session, items, lambda: save_session(session, *files)) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            _teach(browser, server, X)
        finally:
            server.shutdown()
            thread.join()
    assert len(read_answers(files[0])) == 10
    assert load(files[1]).n_triplets_ == 10
    _click(browser, "left")  # the server is gone
    browser.wait("return !document.getElementById('message').hidden")
    text = browser.run("return document.getElementById('message').textContent")
    assert "--resume" in text


def _click(browser, name):
    browser.run("document.getElementById(arguments[0]).click()", name)


def _teach(browser, server, X):
    """Click through ten questions, with one undo and one skip by keys."""
    from selenium.webdriver.common.keys import Keys

    browser.emulate(width=380, height=800, dark=True)
    browser.driver.get(server.address)
    body, serial = browser.driver.find_element("tag name", "body"), 0
    shown = "return document.documentElement.dataset.serial === '{}'"
    browser.wait(shown.format(serial))
    for press in [*10 * [None], Keys.BACKSPACE, " ", None]:
        if press is None:
            anchor, left, right = X[list(server.session.question), 0]
            _click(browser, "left" if abs(anchor - left) < abs(anchor - right) else "right")
        else:
            body.send_keys(press)
        serial += 1
        browser.wait(shown.format(serial))
    assert browser.run("return document.getElementById('answers').textContent") == "10"
    assert browser.run("return document.title") == "Teach a metric"
    assert browser.run("return document.documentElement.scrollWidth") <= 380
    assert browser.errors() == []
    assert {url.split("/")[2] for url in browser.requests() if url.startswith("http")} == {
        f"127.0.0.1:{server.server_port}"
    }
