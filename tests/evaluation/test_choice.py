"""The report of a choice: words for every verdict, tables, JSON and files."""

import json
import re
from html.parser import HTMLParser

import pytest

from frobmetric.evaluation.choice import SelectionReport
from frobmetric.evaluation.paired import PairedErrors
from frobmetric.evaluation.selection import NO_LEARNING, Setting

LEARNED = Setting("within", "raw", 100.0, 3, 2)
RAW, SCALED, WITHIN = (
    Setting("identity", units, NO_LEARNING, 3, 1) for units in ("raw", "deviation", "within")
)


def report(n_both=10, n_fixed=30, n_broken=2, n_samples=200, **changes):
    """A report of these errors; `changes` are other fields."""
    fields = {
        "setting": LEARNED,
        "euclidean": SCALED,
        "errors": PairedErrors.from_counts(n_samples, n_both, n_fixed, n_broken),
        "kinds": ((LEARNED, 0.06, 0.055), (SCALED, 0.2, 0.21), (RAW, 0.3, 0.29)),
        "n_settings": 21,
        "rule": "a vote of 3 neighbours",
        "rule_error": 0.05,
        "n_folds": 3,
    }
    return SelectionReport(**fields | changes)


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (RAW, "Euclid on raw features"),
        (SCALED, "Euclid on scaled features"),
        (WITHIN, "Euclid on features scaled within classes"),
        (LEARNED, "prior within, C = 100, 3 neighbours, 2 passes"),
        (
            Setting("identity", "deviation", 1e5, 6, 1),
            "units deviation, prior identity, C = 100000, 6 neighbours, 1 pass",
        ),
        (Setting("shrunk", "raw", 3.0, 3, 2), "prior shrunk, C = 3, 3 neighbours, 2 passes"),
    ],
)
def test_settings_in_words(setting, text):
    assert str(setting) == text


@pytest.mark.parametrize(
    ("counts", "verdict", "words"),
    [
        ((10, 30, 2), "helped", "The learned metric helps on new data."),
        ((10, 2, 30), "hurt", "The learned metric does harm."),
        ((10, 6, 1), "unclear", "The learned metric made fewer errors, but these samples are too"),
        ((10, 3, 3), "unclear", "These samples are too few to tell whether the learned metric"),
        ((10, 1, 4), "unclear", "These samples are too few to tell whether the learned metric"),
        ((0, 0, 1), "nothing to gain", "There is nothing to gain, as Euclid makes no error."),
        ((9, 2, 2, 5000), "no difference", "The learned metric makes no difference to speak of."),
    ],
)
def test_every_verdict_has_its_sentence(counts, verdict, words):
    found = report(*counts)
    assert found.is_learned
    assert found.verdict == verdict
    assert found.sentences()[0].startswith(words)
    assert str(found).startswith(words[:40])
    assert repr(found) == f"SelectionReport(verdict={verdict!r}, setting='{LEARNED}')"


def test_numbers_are_in_the_second_sentence():
    _, second, third, fourth = report().sentences()
    assert second.startswith("3-NN error 20.0 % (Euclid on scaled features) -> 6.0 %, -14.0 points")
    low, high = map(float, re.search(r"\[([-+.\d]+), ([-+.\d]+)\]", second).groups())
    assert low < -14 < high < 0
    assert second.endswith("(200 held-out samples, 3 folds).")
    assert third == f"Chosen of 21 settings: {LEARNED}."
    assert "`predict` uses a vote of 3 neighbours" in fourth
    assert "5.0 %" in fourth


def test_a_kept_euclid_is_said():
    kept = report(10, 0, 0, setting=SCALED)
    assert kept.verdict == "no difference"
    assert not kept.is_learned
    first, second, *_ = kept.sentences()
    assert first == "The learned metric does not help here; Euclid on scaled features is kept."
    assert (
        second == "3-NN error of Euclid on scaled features: 5.0 % (200 held-out samples, 3 folds)."
    )
    bound = report(10, 0, 20, setting=RAW)
    _, second, *_ = bound.sentences()
    assert second.startswith("3-NN error of Euclid on raw features: 15.0 %")
    assert second.endswith("Euclid on scaled features has 5.0 %: give units='auto'.")


def test_optimal_is_no_word_of_it():
    for found in (report(), report(10, 2, 30), report(10, 0, 0, setting=RAW)):
        assert "optimal" not in str(found) + found._repr_html_()


def test_lines_fit_a_terminal():
    text, table = str(report()).split("\n\n")
    assert max(map(len, text.splitlines())) <= 80
    assert table.splitlines()[0].split() == [
        "best",
        "of",
        "each",
        "kind",
        "3-NN",
        "errors",
        "score",
    ]
    assert len(table.splitlines()) == 4


class _Tags(HTMLParser):
    """Collects tags and texts, and checks that tags are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_html_is_whole_and_escaped():
    found = report(rule="<script>alert(1)</script> & Co")
    html = found._repr_html_()
    parser = _Tags()
    parser.feed(html)
    assert parser.open == []
    assert "script" not in parser.tags
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; Co" in html
    assert "The learned metric helps on new data." in parser.texts
    assert parser.tags.count("table") == 1


def test_json_has_everything():
    found = report()
    data = found.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["verdict"] == "helped"
    assert data["setting"]["C"] == 100
    assert data["euclidean"]["text"] == "Euclid on scaled features"
    assert data["errors"]["n_fixed"] == 30
    assert data["sentences"] == found.sentences()
    assert [kind["error"] for kind in data["kinds"]] == [0.06, 0.2, 0.3]


def test_the_report_in_one_line():
    learned = Setting("identity", "raw", 100.0, 3, 1)
    euclidean = Setting("identity", "raw", NO_LEARNING, 3, 1)
    errors = PairedErrors.from_counts(300, 10, 12, 1)
    fields = {"kinds": (), "n_settings": 3, "rule": "3-NN", "rule_error": 0.1, "n_folds": 3}
    report = SelectionReport(setting=learned, euclidean=euclidean, errors=errors, **fields)
    low, high = errors.interval
    gain = f"+0.037 [{-high:+.3f}, {-low:+.3f}]"
    line = f"3-NN accuracy 0.927 -> 0.963, {gain}, 3 folds of 300 samples"
    assert report.line() == line
    kept = SelectionReport(setting=euclidean, euclidean=euclidean, errors=errors, **fields)
    assert kept.line() == f"no significant gain; Euclid on raw features is kept ({line})"
