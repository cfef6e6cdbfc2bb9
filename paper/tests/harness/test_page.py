"""Pages: templates, tables, HTML; numbers as text."""

import re
from html.parser import HTMLParser

import pytest

from frobmetric_paper.harness import page
from frobmetric_paper.harness.command import command_line
from frobmetric_paper.harness.formatting import (
    listed,
    number,
    parameters,
    percent,
    plural,
    seconds,
    with_error,
)
from frobmetric_paper.harness.machine import record_as_markdown, run_record
from frobmetric_paper.harness.page import bold, details, escape, fill, links, table, write_page

TEMPLATE = """# Title

$small

Text with $n points.

## First

Explained.

$first

$second

### Detail

$third

## Last

Always.
"""


class Balanced(HTMLParser):
    """Fails on tags that are not closed in order; keeps the images and tags."""

    def __init__(self):
        super().__init__()
        self.open, self.images, self.tags = [], [], set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "img":
            self.images.append(dict(attributes)["src"])
        elif tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("img", "meta"):
            assert self.open.pop() == tag


def test_what_is_empty_is_left_out(tmp_path):
    values = {"small": "", "n": "3", "first": "", "second": "a table", "third": ""}
    assert fill(TEMPLATE, values, tmp_path) == (
        "# Title\n\nText with 3 points.\n\n## First\n\nExplained.\n\na table\n\n"
        "## Last\n\nAlways.\n"
    )
    below = fill(TEMPLATE, values | {"second": "", "third": "x"}, tmp_path)
    assert "## First\n\nExplained.\n\n### Detail\n\nx\n\n## Last" in below
    empty = fill(TEMPLATE, values | {"second": ""}, tmp_path)
    assert empty == "# Title\n\nText with 3 points.\n\n## Last\n\nAlways.\n"


def test_everything_is_escaped(tmp_path):
    evil = "<script>alert('&')</script> | *a* _b_ `c`"
    (tmp_path / "a.png").write_text("")
    texts = [
        f"# {escape(evil)}",
        escape(evil),
        f"    {evil}",
        fill("![$caption](a.png)", {"caption": escape(evil)}, tmp_path).strip(),
        table([evil, "b"], [[evil, evil]], evil, texts=("b",)),
    ]
    markdown = "\n\n".join(texts) + "\n"
    html = write_page(tmp_path, markdown).read_text()
    assert (tmp_path / "index.md").read_text() == markdown
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert parser.images == ["a.png"]
    assert "table" in parser.tags
    assert not {"script", "em"} & parser.tags
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in rows)


def test_a_figure_is_shown_with_its_caption_if_it_is_there(tmp_path):
    template = "# All $n\n\n## Part\n\nA figure.\n\n![$n points](a.png)"
    assert fill(template, {"n": "3"}, tmp_path) == "# All 3\n"
    (tmp_path / "a.png").write_text("")
    shown = "# All 3\n\n## Part\n\nA figure.\n\n![3 points](a.png)\n\n3 points\n"
    assert fill(template, {"n": "3"}, tmp_path) == shown


def test_a_page_in_html_has_contents_folded_parts_and_tables_that_scroll(tmp_path):
    folded = details("More <b>", table(["a", "b", "c"], [["1", bold("2*"), ""]]))
    write_page(tmp_path, f"# Title\n\n## First & last\n\n[x](../uci/index.md)\n\n{folded}\n")
    html = (tmp_path / "index.html").read_text()
    assert '<a href="#first-last">First &amp; last</a>' in html
    assert '<h2 id="first-last">' in html
    assert '<a href="../uci/index.html">' in html
    assert "<summary>More &lt;b&gt;</summary>" in html
    assert '<div class="wide"><table>' in html
    assert "<strong>2*</strong>" in html
    assert "<th" in html
    assert ">c</th>" not in html  # a column without any text
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []


def test_links_lead_to_what_is_there(tmp_path):
    folder = tmp_path / "lfw"
    for path in ("lfw/results.json", "lfw/index.md", "mvu/index.md"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    found = links(folder, "lfw")
    assert found == "[all results (json)](results.json) · [unfolding](../mvu/index.md)"


def test_a_page_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    write_page(tmp_path, "# first\n")
    monkeypatch.setattr(page, "_html", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_page(tmp_path, "# second\n")
    assert "first" in (tmp_path / "index.md").read_text()


def test_the_command_that_makes_a_page_again():
    options = {"only": ["a", "b"], "quick": True, "pictures": False, "runs": None}
    options |= {"methods": "", "limit": 600.0, "threads": 2}
    assert command_line("uci", "my page", options) == (
        "frobmetric reproduce uci -o 'my page' --only a --only b --quick --limit 600 --threads 2"
    )


def test_a_record_of_this_run():
    text = record_as_markdown(run_record())
    assert all(word in text for word in ("commit", "threads", "Python 3", "numpy", "cores"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (0.03282, "0.03282"),
        (12422.4, "12,422"),
        (5.982, "5.982"),
        (2e9, "2.000e+09"),
        (1e-5, "1.000e-05"),
        (-0.5, "-0.5000"),
        (9.9999, "10.00"),
    ],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_numbers_as_text():
    assert parameters({"C": 1e6, "k": 3, "pull": 1 / 3, "kind": "x"}) == (
        "C = 1e6, k = 3, pull = 0.333, kind = x"
    )
    assert parameters({"prior": None}) == "prior = none"
    assert parameters({}) == "–"
    assert (seconds(1.0, is_bound=True), seconds(None)) == ("< 1 s", "–")
    assert (seconds(4e-5), seconds(0.25)) == ("< 0.001 s", "0.250 s")
    assert (plural(1, "run"), plural(2, "run")) == ("1 run", "2 runs")
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")
    assert (percent(2.316, 0.314), percent(2.316), percent(None)) == ("2.32 (0.31)", "2.32", "–")
    assert (with_error(87.5, 0.31), with_error(87.5, None)) == ("87.50 ± 0.31", "87.50")
