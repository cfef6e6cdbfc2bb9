"""Reports of models as HTML pages: their size, and how long a headless browser takes to open them.

A page is open when its scripts have drawn everything. CPU seconds are those of the page's main
thread, and do not count other work on the machine; wall seconds do.
"""

import json
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from sklearn.datasets import load_digits, load_wine, make_classification

from frobmetric import FrobMetric, report

from ..harness.benchmark import Benchmark, Options

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
FLAGS += ("--disable-background-networking", "--disable-component-update", "--disable-sync")
#: Seconds that a page may take.
PATIENCE = 120.0
READY = "return document.documentElement.dataset.ready === 'yes' && performance.now() / 1000"


def drawn_points(options):
    """Return samples of seven classes, drawn at random, and their labels."""
    n = options.choose(10_000, 600)
    kind = {"n_informative": 12, "n_redundant": 10, "n_classes": 7, "class_sep": 1.3}
    return make_classification(n, 54, random_state=0, **kind)


#: Samples and labels by name, and the shape of pictures.
DATA = {
    "wine": (lambda options: load_wine(return_X_y=True), None),
    "digits": (lambda options: load_digits(return_X_y=True), (8, 8)),
    "drawn": (drawn_points, None),
}


@contextmanager
def browser():
    """Yield a driver of chromium with a new profile."""
    from selenium import webdriver

    programs = [shutil.which("chromium"), shutil.which("chromedriver")]
    if None in programs:
        raise RuntimeError("this needs chromium and chromedriver; install them with: make browser")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(executable_path=programs[1])
        driver = webdriver.Chrome(options=options, service=service)
        try:
            driver.get("about:blank")
            yield driver
        finally:
            driver.quit()


def open_page(path):
    """Return wall and CPU seconds until a page is drawn, its requests and errors."""
    with browser() as driver:
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        driver.get_log("performance")
        driver.get(path.as_uri())
        began, seconds = time.perf_counter(), None
        while not seconds and time.perf_counter() - began < PATIENCE:
            seconds = driver.execute_script(READY)
        metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        events = [
            json.loads(entry["message"])["message"] for entry in driver.get_log("performance")
        ]
        sent = [e for e in events if e["method"] == "Network.requestWillBeSent"]
        errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    cpu = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    return {"wall": seconds, "cpu": cpu, "requests": len(sent) - 1, "errors": len(errors)}


def pages(options):
    """Make a page for each of the data, and open it several times."""
    lines = []
    for name, (load, shape) in DATA.items():
        X, y = load(options)
        metric = FrobMetric().fit(X, y)
        began = time.process_time()
        page = report(metric, X, y, image_shape=shape, n_refits=options.choose(20, 2))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.html"
            page.save(path)
            making, size = time.process_time() - began, path.stat().st_size / 1e6
            runs = [open_page(path) for _ in range(options.repeat)]
        line = {"data": name, "n_samples": len(X), "n_features": X.shape[1], "making": making}
        line |= {"size": size, "verdict": page.comparison.verdict}
        line |= {key: min(run[key] for run in runs) for key in ("wall", "cpu")}
        lines.append(line | {key: max(run[key] for run in runs) for key in ("requests", "errors")})
    return lines


BENCHMARK = Benchmark(
    parts={"pages": pages},
    page=lambda parts: {"lines": [line for lines in parts.values() for line in lines]},
    options=Options(repeat=5),
)
