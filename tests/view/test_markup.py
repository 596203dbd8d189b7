import xml.etree.ElementTree as ET
from html.parser import HTMLParser

from hypothesis import given, strategies as st
from kit.commands import examples

from kwire_cli.view.lines import escaped
from kwire_cli.view.markup import markup_text


@examples(120)
@given(st.text(st.characters(exclude_categories=())))
def test_any_string_is_text_and_a_value_in_xml_and_html(text):
    shown = markup_text(text)
    element = ET.fromstring(f'<a b="{shown}">{shown}</a>')
    assert (element.text or "", element.get("b")) == (escaped(text), escaped(text))
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda *tag: found.append(tag)
    parser.feed(f'<a b="{shown}">{shown}</a>')
    assert found == [("a", [("b", escaped(text))])]
