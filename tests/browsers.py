"""A headless browser for tests of pages, with a log of its requests and of its console."""

import json
import shutil
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
NAMES = ("chromium", "chromium-browser", "google-chrome")
#: Seconds that a page may take until its scripts have run, however busy the machine is.
PATIENCE = 60


class Browser:
    """A browser that shows one page."""

    def __init__(self, driver):
        self.driver = driver

    def emulate(self, *, width=1200, height=900, media="", dark=False):
        """Set the size of the window and what the style sheet is told."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        told = {"media": media, "features": [scheme]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", told)

    def open(self, path):
        """Open a file and wait until its scripts say that they are ready."""
        self.driver.get_log("performance")  # forget what was before
        self.driver.get(path.as_uri())
        self.wait("return document.documentElement.dataset.ready === 'yes'")

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def wait(self, script):
        """Wait until a script returns something true, and return it."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, PATIENCE, 0.05).until(lambda d: d.execute_script(script))

    def errors(self):
        """Return the errors on the console since the last call."""
        return [entry for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def requests(self):
        """Return the addresses that pages asked for since they were opened."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        sent = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]


def find_programs():
    """Return the paths of a browser and of its driver; skip the test if one is missing."""
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    driver = shutil.which("chromedriver")
    if find_spec("selenium") is None or browser is None or driver is None:
        pytest.skip("needs selenium, chromium and chromedriver: make browser")
    return browser, driver


@contextmanager
def headless_browser():
    """Yield a `Browser` with a new profile."""
    browser, driver = find_programs()
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in [*FLAGS, f"--user-data-dir={profile}"]:
            options.add_argument(flag)
        service = webdriver.ChromeService(executable_path=driver)
        driver = webdriver.Chrome(options=options, service=service)
        try:
            driver.get("about:blank")
            yield Browser(driver)
        finally:
            driver.quit()
