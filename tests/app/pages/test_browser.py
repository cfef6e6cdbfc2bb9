"""The report in a real browser: clicks, slider, hostile names, phone, paper, light and dark."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine, make_classification

from browsers import headless_browser
from frobmetric import FrobMetric, report

pytestmark = pytest.mark.slow

HOSTILE = "</script><script>document.title='owned'</script>"
CLASSES = [HOSTILE, "<b>bold</b> $\\alpha$", "{{ 7 * 7 }} <img src=x onerror=alert(1)>"]
#: Coordinates of all points of a map.
POINTS = "return Array.from(document.getElementById('plot-after').data, t => t.x).flat()"


@pytest.fixture(scope="module")
def browser():
    with headless_browser() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def hostile(folder):
    wine = load_wine()
    names = [HOSTILE, "<i>x</i>", "&amp;"] + [f'f{i} "quoted"' for i in range(10)]
    options = {"feature_names": names, "title": f"<u>{HOSTILE}", "n_refits": 2, "cv": 3}
    path = folder / "hostile.html"
    report(FrobMetric(), wine.data, np.array(CLASSES)[wine.target], **options).save(path)
    return path


@pytest.fixture(scope="module")
def digits(folder):
    data = load_digits()
    rows = np.arange(400)
    path = folder / "digits.html"
    options = {"image_shape": (8, 8), "n_refits": 2, "cv": 2}
    report(FrobMetric(), data.data[rows], data.target[rows], **options).save(path)
    return path


@pytest.fixture
def page(browser, hostile):
    browser.emulate()
    browser.open(hostile)
    return browser


def _text(browser, selector):
    return browser.run("return document.querySelector(arguments[0]).textContent", selector)


def _mouse(browser, kind, x, y):
    """Move, press or release the mouse."""
    button = {"button": "none"} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
    event = {"type": kind, "x": x, "y": y, **button}
    browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def _move_to(browser, plot, point):
    """Move the mouse to a point of a map, and return where it is in the window."""
    x, y = browser.run(
        """const plot = document.getElementById(arguments[0]);
        plot.scrollIntoView({block: "center", behavior: "instant"});
        const box = plot.getBoundingClientRect(), layout = plot._fullLayout, i = arguments[1];
        const t = plot.id === "plot-after" ? share : 0;
        return [box.left + layout.xaxis._offset + layout.xaxis.l2p(place(0, t, [i])[0]),
                box.top + layout.yaxis._offset + layout.yaxis.l2p(place(1, t, [i])[0])]""",
        plot,
        point,
    )
    _mouse(browser, "mouseMoved", x, y)
    browser.wait("return document.getElementById('tip').style.display === 'block'")
    return x, y


def _click_point(browser, plot, point):
    """Click on a point of a map with the mouse."""
    place = _move_to(browser, plot, point)
    for kind in ("mousePressed", "mouseReleased"):
        _mouse(browser, kind, *place)


def _far_point(browser):
    """Return the place of the point with the largest coordinate, which hides no other one."""
    return browser.run(
        "return planes[0][0].reduce((best, x, i) => x > planes[0][0][best] ? i : best, 0)"
    )


def test_no_error_and_no_request(page, hostile):
    assert page.errors() == []
    assert page.requests() == [hostile.as_uri()]


def test_hostile_names_are_text(page):
    assert page.run("return document.title") == f"<u>{HOSTILE}"
    assert _text(page, "h1") == f"<u>{HOSTILE}"
    assert page.run("return document.querySelectorAll('main script, main img, main u').length") == 0
    chips = "return Array.from(document.querySelectorAll('#legend .chip'), c => c.title)"
    assert sorted(page.run(chips)) == sorted(CLASSES)
    assert any(name in _text(page, "#votes") for name in CLASSES)
    assert HOSTILE in _text(page, "#features table")
    assert page.errors() == []


def test_the_slider_moves_the_points(page):
    at_end = page.run(POINTS)
    page.run(
        "const s = document.getElementById('slider'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input'))",
        "0",
    )
    at_start = page.run(POINTS)
    assert np.abs(np.subtract(at_end, at_start)).max() > 0.1
    before = POINTS.replace("plot-after", "plot-before")
    np.testing.assert_allclose(at_start, page.run(before), atol=1e-12)
    assert _text(page, "#title-after") == "Before"


def test_the_slider_takes_keys(page):
    slider = page.driver.find_element("id", "slider")
    slider.send_keys("\ue012")  # left arrow
    assert page.run("return share") == pytest.approx(0.99)
    assert _text(page, "#title-after") == "99 % of the way to after"


def test_play_goes_to_the_other_end(page):
    page.run("document.getElementById('play').click()")
    page.wait("return share === 0 && !document.getElementById('play').disabled")


@pytest.mark.parametrize("plot", ["plot-before", "plot-after"])
def test_a_click_shows_the_neighbours_of_a_point(page, plot):
    point = _far_point(page)
    if plot == "plot-after":
        point = page.run(
            "return planes[1][0].reduce((best, x, i) => x > planes[1][0][best] ? i : best, 0)"
        )
    page.run("choose(0, arguments[0])", (point + 1) % 178)
    _click_point(page, plot, point)
    page.wait(f"return chosen[0] === {point}")
    assert page.run("return document.getElementById('row-a').value") == str(point)
    near = page.run(
        "return Array.from(document.querySelectorAll('#near-after .row'), n => n.textContent)"
    )
    expected = page.run(
        "return Array.from(neighbours[1].slice(8 * arguments[0], 8 * arguments[0] + 8))", point
    )
    assert near == [f"row {i}" for i in expected]


def test_hover_marks_the_same_point_in_both_maps(page):
    point = _far_point(page)
    _move_to(page, "plot-before", point)
    places = page.run(
        """return rings.map((three, side) => {
            const box = three[2].getBoundingClientRect(), plot = plots[side];
            const axis = plot._fullLayout.xaxis, left = plot.getBoundingClientRect().left;
            return [box.left + box.width / 2, left + plot.clientLeft + axis._offset
                    + axis.l2p(place(0, side, [arguments[0]])[0]), box.width];
        })""",
        point,
    )
    for found, expected, width in places:
        assert width == 20
        assert found == pytest.approx(expected, abs=1.0)
    assert f"row {point}" in _text(page, "#tip")


def test_the_parts_of_a_distance_are_those_of_the_metric(page, hostile):
    wine = load_wine()
    metric = FrobMetric().fit(wine.data, np.array(CLASSES)[wine.target])
    page.run("choose(0, 5); choose(1, 90)")
    parts = page.run("return parts('features').after")
    expected = metric.explain(wine.data[5], wine.data[90])
    np.testing.assert_allclose(parts, expected.parts, atol=2e-3 * expected.total)
    squares = page.run("return parts('components').after")
    assert sum(squares) == pytest.approx(expected.total, rel=2e-3)
    assert "Squared learned distance" in _text(page, "#parts-note")


def test_a_neighbour_becomes_sample_b(page):
    page.run("document.querySelector('#near-before .tile').click()")
    chosen = page.run("return [chosen[1], neighbours[0][8 * chosen[0]]]")
    assert chosen[0] == chosen[1]
    assert page.run("return Number(document.getElementById('row-b').value)") == chosen[0]


def test_a_row_number_chooses_a_sample(page):
    field = page.driver.find_element("id", "row-a")
    field.clear()
    field.send_keys("17\ue007")
    page.wait("return chosen[0] === 17")
    field.clear()
    field.send_keys("9999\ue007")
    assert _text(page, "#votes") == "Row 9999 is not shown on this page."


def test_every_control_can_be_focused_and_has_a_name(page):
    unnamed = """return Array.from(document.querySelectorAll("button, input, select")).filter(
        n => n.tabIndex < 0 || !(n.textContent.trim() || n.ariaLabel || n.closest("label"))
        ).length"""
    assert page.run(unnamed) == 0


def test_a_class_can_be_hidden(page):
    page.run("document.querySelector('#legend .chip').click()")
    page.wait("return document.getElementById('plot-before').data[0].visible === false")
    assert page.run("return document.querySelector('#legend .chip').ariaPressed") == "false"


def test_colour_by_change(page):
    page.run(
        "const s = document.getElementById('colour'); s.value = 'change';"
        "s.dispatchEvent(new Event('change'))"
    )
    page.wait("return document.querySelector('#legend .chip').title === 'right before and after'")


@pytest.mark.parametrize("name", ["hostile", "digits"])
def test_a_phone_has_no_horizontal_scroll(browser, request, name):
    browser.emulate(width=360, height=740)
    browser.open(request.getfixturevalue(name))
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    widths = browser.run("return plots.map(p => p.getBoundingClientRect().width)")
    assert all(250 < width <= 360 for width in widths)
    assert browser.errors() == []


def test_dark_mode(browser, hostile):
    colours = []
    for dark in (False, True):
        browser.emulate(dark=dark)
        browser.open(hostile)
        colours.append(browser.run("return getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(18, 23, 28)"]
    ink = browser.run("return document.getElementById('plot-after')._fullLayout.font.color")
    assert ink == browser.run("return colourOf('--muted')")


def test_dark_mode_is_taken_over_while_the_page_is_open(page):
    page.emulate(dark=True)
    page.wait("return document.getElementById('plot-after')._fullLayout.font.color === '#a3b0bc'")
    assert page.errors() == []


def test_paper(browser, hostile):
    browser.emulate(dark=True)
    browser.open(hostile)
    browser.emulate(dark=True, media="print")
    style = "return getComputedStyle(document.querySelector(arguments[0])).display"
    assert browser.run(style, "nav") == "none"
    assert browser.run(style, ".slider") == "none"
    assert browser.run(style, "#legend") == "flex"  # it explains the colours
    background = "return getComputedStyle(document.body).backgroundColor"
    assert browser.run(background) == "rgb(255, 255, 255)"
    pdf = browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(pdf) > 20_000


#: Plots that are not inside of their box, and boxes that are not inside of the page.
OUTSIDE = """return Array.from(document.querySelectorAll(".main-svg"), (svg) => {
    const inner = svg.getBoundingClientRect(), plot = svg.closest(".plot, .chart");
    const outer = plot.getBoundingClientRect();
    const text = plot.closest(".map, .chart").nextElementSibling;
    const isIn = inner.left >= outer.left - 0.5 && inner.right <= outer.right + 0.5
        && inner.top >= outer.top - 0.5 && inner.bottom <= outer.bottom + 0.5;
    return [plot.id, isIn && outer.right <= document.documentElement.clientWidth,
            text === null || text.getBoundingClientRect().top >= outer.bottom - 0.5];
}).filter(([, isIn, isAbove]) => !(isIn && isAbove))"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["hostile", "digits"])
def test_plots_are_whole_on_paper(browser, request, name, width):
    browser.emulate(width=width)
    browser.open(request.getfixturevalue(name))
    assert browser.run(OUTSIDE) == []
    browser.emulate(width=700, media="print")
    browser.wait("return plots.every((plot) => plot._fullLayout.width === 310)")
    assert browser.run(OUTSIDE) == []
    assert browser.run("return document.documentElement.scrollWidth") <= 700
    browser.emulate(width=width)
    browser.wait("return plots.every((plot) => plot._fullLayout.width === plot.clientWidth)")
    assert browser.run(OUTSIDE) == []


def test_plots_have_their_paper_size_before_the_page_is_laid_out_for_it(page):
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    sizes = "return plots.map((plot) => [plot._fullLayout.width, plot._fullLayout.height])"
    assert page.run(sizes) == [[310, 300], [310, 300]]
    page.run("window.dispatchEvent(new Event('afterprint'))")
    page.wait("return plots.every((plot) => plot._fullLayout.width === plot.clientWidth)")
    assert page.errors() == []


def test_letters_of_near_samples_lie_on_different_sides(page):
    page.run("choose(0, 0); choose(1, neighbours[1][0])")
    for a, b in page.run(
        "return rings.map(([a, b]) => [a, b].map((r) => r.classList.contains('left')))"
    ):
        assert a != b


def test_a_phone_lists_confusions_in_place_of_a_wide_table(browser, digits):
    shown = """return ["table.confusion", "table.confusions"].map(
        (name) => document.querySelector(name).checkVisibility())"""
    for width, expected in ((390, [False, True]), (1280, [True, False])):
        browser.emulate(width=width)
        browser.open(digits)
        assert browser.run(shown) == expected


def test_names_of_classes_are_not_broken_in_the_confusions(page):
    heights = page.run(
        """return Array.from(document.querySelectorAll(".confusion tbody th"),
        (cell) => [cell.getBoundingClientRect().height, cell.title])"""
    )
    assert max(height for height, _ in heights) < 45
    assert {title for _, title in heights} == set(CLASSES)


def test_parts_name_both_values(page):
    page.run("choose(0, 5); choose(1, 90)")
    alcohol = page.run("return [valueText(0, 5), valueText(0, 90)].map(Number)")
    np.testing.assert_allclose(alcohol, load_wine().data[[5, 90], 0], atol=2e-3)
    lines = page.run(
        "return Array.from(document.querySelectorAll('#parts .pair-values'), n => n.textContent)"
    )
    assert len(lines) == 10
    assert all(line.startswith("A ") and ", B " in line for line in lines)


def test_pictures_are_drawn(browser, digits):
    browser.emulate()
    browser.open(digits)
    assert browser.run("return document.querySelectorAll('#near-after canvas').length") == 8
    pixels = browser.run(
        """const c = document.querySelector('#chosen-a canvas');
        const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return Array.from(data).filter((_, i) => i % 4 === 0)"""
    )
    place = browser.run("return rows[chosen[0]]")
    expected = np.rint(255 * load_digits().data[place] / 16)
    assert np.abs(np.subtract(pixels, expected)).max() <= 1
    assert browser.errors() == []


def test_ten_thousand_points(browser, folder):
    X, y = make_classification(10_000, 54, n_informative=10, n_classes=5, random_state=0)
    path = folder / "large.html"
    model = FrobMetric(tol=0.1, n_neighbors=1, n_passes=1)
    report(model, X, y, n_refits=0).save(path)
    assert path.stat().st_size <= 8_000_000
    browser.emulate()
    browser.open(path)
    assert browser.run("return data.n") == 10_000
    assert browser.requests() == [path.as_uri()]
    assert browser.errors() == []
