"""What comes from users is text, never markup."""

from html.parser import HTMLParser

import pytest

from pliant.problem import markup

NASTY = "<script>alert('1')</script>&\"'"


class Tags(HTMLParser):
    """Collects the tags and the text, and checks that tags are closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        assert all(name == "style" for name, _ in attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    "html",
    [
        markup.page(NASTY),
        markup.paragraph(NASTY).code,
        markup.table(["", NASTY], [[NASTY, "1"], ["a", NASTY]]).code,
        markup.listing([(NASTY, "1"), ("a", NASTY)]).code,
        markup.folded(NASTY, markup.paragraph("a")).code,
    ],
)
def test_every_text_is_escaped(html):
    tags = Tags(html)
    assert "script" not in tags.seen
    assert NASTY in tags.text


def test_a_table_has_its_cells_in_order():
    tags = Tags(markup.page("t", markup.table(["a", "b"], [["c", "d"], ["e", "f"]])))
    assert tags.text == "tabcdef"
    assert {"div", "table", "thead", "tbody", "tr", "th", "td"} <= tags.seen
