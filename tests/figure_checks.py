"""Checks of figures that several tests share."""


def texts(legend):
    """Return the entries of a legend."""
    return [text.get_text() for text in legend.get_texts()]


def assert_inside_the_page(display, *axes):
    """Check that no label is cut off."""
    display.figure_.canvas.draw()
    page = display.figure_.bbox
    for box in (ax.get_tightbbox() for ax in axes):
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert page.y0 <= box.y0
        assert box.y1 <= page.y1
