"""Committed results: the pages that the harness writes from them say what they say."""

import csv
import json
import re
from math import isclose
from pathlib import Path

import pytest

from frobmetric_paper.action import experiment as action
from frobmetric_paper.harness.command import page_text, read_results
from frobmetric_paper.harness.page import write_page
from frobmetric_paper.lfw import experiment as lfw
from frobmetric_paper.mvu import experiment as mvu
from frobmetric_paper.uci import experiment as uci

FOLDER = Path(__file__).parents[2] / "results"
EXPERIMENTS = {"uci": uci, "action": action, "lfw": lfw, "mvu": mvu}


@pytest.fixture(params=EXPERIMENTS)
def committed(request):
    """Folder, experiment, record and results of a committed experiment."""
    folder, experiment = FOLDER / request.param, EXPERIMENTS[request.param].experiment()
    return folder, experiment, *read_results(experiment, folder)


def test_the_page_follows_from_the_results(committed):
    folder, experiment, record, results = committed
    page = (folder / "index.md").read_text(encoding="utf-8")
    assert page_text(experiment, results, record, folder) == page


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_html_follows_from_the_markdown(name, tmp_path):
    """And links lead to files that are there."""
    markdown = (FOLDER / name / "index.md").read_text(encoding="utf-8")
    html = (FOLDER / name / "index.html").read_text(encoding="utf-8")
    assert write_page(tmp_path, markdown).read_text(encoding="utf-8") == html
    for target in re.findall(r'(?:href|src)="([^"#]+)"', html):
        assert (FOLDER / name / target).exists(), target
    for target in re.findall(r'href="#([^"]+)"', html):
        assert f'id="{target}"' in html, target


def is_same(value, other):
    """Whether two entries agree, as text or as numbers up to rounding."""
    texts = ["" if each is None else str(each) for each in (value, other)]
    try:
        return isclose(*map(float, texts), rel_tol=1e-9, abs_tol=1e-9)
    except ValueError:
        return texts[0] == texts[1]


def test_the_rows_follow_from_the_cells(committed):
    """Those of results.json and of table.csv, in whatever order."""
    folder, _, record, results = committed
    assert (folder / "table.csv").is_file() == bool(results.rows()) == ("rows" in record)
    if not results.rows():
        pytest.skip("the experiment has no table.csv")
    with open(folder / "table.csv", newline="") as file:
        stored = [dict(row) for row in csv.DictReader(file)]
    for rows in (stored, record["rows"]):
        assert len(rows) == len(results.rows())
        table = {key_of(row): row for row in rows}
        for row in results.rows():
            for name, value in table[key_of(row)].items():
                assert is_same(value, row[name]), (key_of(row), name)


def key_of(row):
    names = ("set", "method", "part", "variant", "dimensions", "n_triplets", "rule")
    return tuple(str(row.get(name) or "") for name in names)


def test_results_are_written_as_they_were_read(committed):
    _, _, record, results = committed
    again = json.loads(json.dumps(results.to_dict(), allow_nan=False))
    described = {"experiment", "command", "earlier", "settings", "is_small", "machines"}
    assert set(record) - described == set(again)
    assert again["cells"] == record["cells"]
