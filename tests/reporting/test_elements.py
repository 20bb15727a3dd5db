"""Elements escape every text."""

from pliant.problem.markup import Html
from pliant.reporting.elements import element, figure, folded, joined, listing, shown, table

EVIL = '<script>alert("1")</script>&\''
SAFE = "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#x27;"


def test_texts_and_attributes_are_escaped():
    assert element("p", EVIL).code == f"<p>{SAFE}</p>"
    assert element("p", title=EVIL).code == f'<p title="{SAFE}"></p>'
    assert joined([EVIL, Html("<b>")]).code == f"{SAFE}<b>"
    parts = [
        listing([[EVIL, EVIL]]),
        table(EVIL, [EVIL], [[EVIL]], values=[[EVIL]], titles=[EVIL]),
        figure("name", EVIL, EVIL),
        folded(EVIL, EVIL),
    ]
    for part in parts:
        assert "<script>" not in part.code
        assert SAFE in part.code


def test_attributes():
    found = element("input", type="checkbox", checked=True, disabled=False, class_=None, data_x="1")
    assert found.code == '<input type="checkbox" checked data-x="1">'


def test_a_sortable_table_has_buttons_and_values():
    code = table("Caption", ["name", "mean"], [["a", "1.2"]], values=[["a", 1.234]]).code
    assert '<th scope="col" class="number" aria-sort="none"><button type="button"' in code
    assert '<td class="number" data-value="1.234" data-label="mean">1.2</td>' in code
    assert "<caption>Caption</caption>" in code
    assert "button" not in table("Caption", ["name"], [["a"]]).code


def test_labels_of_several_texts_stand_once():
    code = listing([["prior", "a"], ["prior", "b"], ["seed", "0"]]).code
    assert code == "<dl><dt>prior</dt><dd>a</dd><dd>b</dd><dt>seed</dt><dd>0</dd></dl>"


def test_numbers():
    assert (shown(None), shown(1.23456), shown(0.5, ".0%")) == ("-", "1.235", "50%")
