"""HTML for notebooks: balanced, without scripts, with everything escaped and no secret."""

from html.parser import HTMLParser

import pytest
from kit.captures import hostile_frames
from kit.commands import ROOT
from kit.secrets import ENTRIES, body_of, shows

import kwire_cli as kwire
from kwire_cli.answer import Answer, Chart, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.view.lines import is_hidden

pytestmark = pytest.mark.usefixtures("few_rules")

CAPTURE = ROOT / "samples/incidents/rebalancing.pcap"
QUESTIONS = (kwire.summary, kwire.diagnose, kwire.stats, kwire.clients, kwire.groups, kwire.transactions,
             kwire.sequence, kwire.overhead)  # fmt: skip


class Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.names, self.text = [], set(), ""

    def handle_starttag(self, tag, attributes):
        if tag == "img":  # a chart: an image has no end
            assert dict(attributes)["src"].startswith("data:image/svg+xml;base64,")
            return
        self.open.append(tag)
        self.names |= {tag, *(name for name, _ in attributes)}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    assert reader.names <= {"div", "h4", "h5", "p", "pre", "span", "table", "tr", "th", "td", "code", "style"}
    assert not any(is_hidden(char) for char in reader.text if char != "\n")
    return reader.text


@pytest.mark.parametrize("ask", QUESTIONS, ids=lambda function: function.__name__)
def test_an_answer_is_a_piece_of_html(ask):
    answer = ask(CAPTURE)
    assert read(answer._repr_html_()) == read(answer._repr_html_())  # it may be shown twice
    assert answer.title in read(answer._repr_html_())
    assert repr(answer).count("\n") == 0
    for table in answer.tables:
        read(table._repr_html_())
        assert answer[table.name] is table
        assert len(table.to_dicts()) == len(table.rows)
        assert table.to_arrow().num_rows == len(table.rows)


def test_every_block_is_shown_and_nothing_acts():
    evil = "<script>\x1b\u202e&"
    answer = Answer(evil, [
        Facts([Fact("who", evil)], evil), Table("t", [Column(evil)], [(evil,)] * 3, title=evil, shown=2, note=evil),
        Note(evil, "error"), Outline("o", [Item(1, evil, evil)], evil), Chart("bars", evil, [(evil, 2)]),
        Chart("histogram", evil),
    ])  # fmt: skip
    text = read(answer._repr_html_())
    assert text.count("<script>") == 12
    assert "… and 1 more" in text


def test_a_table_of_another_name_is_an_error_that_names_them():
    with pytest.raises(KeyError, match="the tables are api, client, topic, broker"):
        kwire.stats(CAPTURE)["apis"]


def test_frames_messages_and_batches_have_two_panes():
    frame = [*kwire.read_frames(CAPTURE)][8]
    assert repr(frame) == "<frame 9: CreateTopics v7 request, 45 bytes, 0 anomalies>"
    assert "─ timeoutMs: 30000" in read(frame._repr_html_())
    text = read(frame.body._repr_html_())
    assert "70 61 79 6d 65 6e 74 73" in text
    assert frame.body.value["topics"][0]["name"] == "payments"
    for name in ("orders-zstd-0", "__consumer_offsets-0", "v0-0", "v1-0"):
        folder = ROOT / "samples/segments" / name
        for file in sorted(folder.glob("*.log")):
            for item in kwire.read_records(file):
                assert repr(item).count("\n") == 0
                if hasattr(item, "records"):
                    assert f"{item.position:08x}  " in read(item._repr_html_())


def test_hostile_names_do_not_act():
    for frame in kwire.read_frames(hostile_frames("\x1b]8;;<script>\u202e")):
        read(frame._repr_html_())
        assert not any(map(is_hidden, repr(frame)))


def test_no_secret_is_shown():
    for message, path, version in ENTRIES[::3]:
        body = kwire.decode(body_of(message, path, version), message=message, version=version)
        assert not shows(body._repr_html_())
        assert not shows(repr(body))
    assert shows(kwire.decode(body_of(*ENTRIES[0]), message=ENTRIES[0][0], version=ENTRIES[0][2], show_secrets=True)
                 ._repr_html_())  # fmt: skip


def test_folds_have_functions():
    printed = kwire.ask("groups", CAPTURE)
    assert kwire.groups(CAPTURE) == printed
    assert kwire.groups(CAPTURE, names=["other"])["groups"].rows == []
    assert not kwire.verify(ROOT / "samples/logs").found
    assert kwire.verify(ROOT / "samples/segments/bitflip-0")["faults"].to_dicts()
    assert kwire.overhead(CAPTURE, by=["client"])["byClient"].rows
