"""One Answer with every block and every kind of value, through every renderer."""

import csv
import io
import json

import pyarrow.parquet as pq
import pytest

from kwire_cli.answer import Answer, Chart, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import InputError
from kwire_cli.view.answers import answer_csv, answer_document, answer_json, answer_jsonl
from kwire_cli.view.arrow import write_table
from kwire_cli.view.json import dumps
from kwire_cli.view.page import answers
from kwire_cli.view.tables import fewer, spark
from kwire_cli.view.terminal import answer_text

COLUMNS = (
    Column("api"),
    Column("requests", "count"),
    Column("share", "share", keep=1),
    Column("p99", "duration", keep=2),
    Column("first", "instant", keep=3),
    Column("isSlow", "flag", keep=4),
    Column("topics", "list", keep=5),
    Column("errors", "map", level="error", keep=6),
    Column("longNote", wide=True),
    Column("drawn", "bar", keep=7),
    Column("ratio", "number", absent="(none)", digits=1, keep=7),
)
ROWS = (
    (
        "Fetch",
        1200,
        0.75,
        0.0125,
        "2026-11-21T10:00:00.123Z",
        True,
        ["a", "b"],
        {"NOT_LEADER": 2},
        "x" * 90,
        1200,
        2.55,
    ),
    ("Produce", 400, 0.25, 0.0004, None, False, [], {}, "=1+1", 400, None),
)


def answer_page(answer):
    return "".join(answers.answer_page(answer))


def answer(**table):
    return Answer(
        "apis",
        [
            Facts([Fact("fileBytes", 4711, "bytes"), Fact("took", 1.5, "duration"), Fact("who", "\x1b[31mred")]),
            Table("apis", COLUMNS, ROWS, title="by api", note="two of them", **table),
            Outline("tree", [Item(0, "topics", "2"), Item(1, "a", level="warning")]),
            Note("a packet is missing", "warning"),
            Chart("bars", "bytes", [("Fetch", 3), ("<b>", 1)]),
            Chart("histogram", "sizes", [("1", 3)], unit="batches"),
            Chart("icicle", "where", [(("Fetch", "topics"), 3)]),
        ],
    )


def test_json_has_numbers_as_numbers_and_no_bars():
    document = answer_document(answer())
    assert document["facts"] == {"fileBytes": 4711, "took": 1.5, "who": "\x1b[31mred"}
    assert document["notes"] == ["a packet is missing"]
    first = document["tables"]["apis"][0]
    assert first["p99"] == 0.0125
    assert first["errors"] == {"NOT_LEADER": 2}
    assert "drawn" not in first
    assert document["tables"]["tree"][1] == {"depth": 1, "text": "a", "detail": ""}


def test_a_document_is_written_line_by_line():
    """It is the text of the whole document, also around empty tables and line ends of Unicode."""
    rows = [("a\u2028b\n", ["x", {}])]
    empty, one = Table("empty", COLUMNS[:1], []), Table("one", COLUMNS[:1], rows)
    for blocks in ([], [empty], [one, empty], [empty, one, Note("n")], [Table("three", COLUMNS[:1], rows * 3)]):
        answer = Answer("titles\u2029", blocks)
        assert "\n".join(answer_json(answer)) == dumps(answer_document(answer), indent=True)
    lines = answer_json(Answer("one by one", [Table("t", COLUMNS[:1], iter([("a",), ("b",), ()]))]))
    assert json.loads([next(lines) for _ in range(3)][2].removesuffix(",")) == {"api": "a"}


def test_every_line_of_jsonl_names_its_table():
    lines = [json.loads(line) for line in answer_jsonl(answer())]
    assert [line["table"] for line in lines].count("apis") == 2
    assert {line["table"] for line in lines} == {"apis", "tree", "notes", "facts"}


def test_csv_is_one_table_in_which_nothing_runs():
    rows = [*csv.DictReader(io.StringIO("\r\n".join(answer_csv(answer()))))]
    assert rows[0]["errors"] == "NOT_LEADER 2"
    assert rows[0]["topics"] == "a;b"
    assert rows[1]["longNote"] == "'=1+1"


def test_a_table_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(InputError, match="--table api: the tables are apis"):
        list(answer_csv(answer(), "api"))


@pytest.mark.parametrize("width", [30, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(width):
    text = answer_text(answer(), width)
    assert max(map(len, text.splitlines())) <= width
    assert "Fetch" in text
    assert "1200" in text


def test_columns_that_are_kept_least_go_first():
    wide, narrow = answer_text(answer(), 160), answer_text(answer(), 40)
    assert "NOT_LEADER" in wide
    assert "NOT_LEADER" not in narrow
    assert "75.0 %" in narrow


def test_texts_and_names_are_cut_before_times_and_errors():
    columns = (
        Column("time", "instant", digits=3),
        Column("transactionalId"),
        Column("event"),
        Column("detail"),
        Column("errors", "map"),
    )
    at, detail = "2026-11-21T10:56:28.258000Z", "__consumer_offsets-0, txn-out-0, txn-out-1"
    rows = [(at, "lab-txn-open", "initProducerId", detail, {"CONCURRENT_TRANSACTIONS": 2})]
    text = answer_text(Answer("t", [Table("events", columns, rows)]), 84)
    assert text.splitlines()[1].startswith("10:56:28.258  lab-txn-open  initProducerId  ")
    assert text.splitlines()[1].endswith("  2 CONCURRENT_TRANSACTIONS")
    rows = [(at, "a-transactional-id-of-29-char", "verifyPartitions", detail, {"CONCURRENT_TRANSACTIONS": 2})]
    narrow = answer_text(Answer("t", [Table("events", columns, rows)]), 72)
    assert "10:56:28.258  " in narrow
    assert max(map(len, narrow.splitlines())) <= 72


def test_instants_keep_their_date_where_there_is_room_or_where_it_differs():
    table = Table("events", (Column("time", "instant"), Column("event")), [("2026-11-21T10:56:28Z", "a" * 60)])
    assert answer_text(Answer("t", [table]), 100).splitlines()[1].startswith("2026-11-21 10:56:28  a")
    assert answer_text(Answer("t", [table]), 40).splitlines()[1].startswith("10:56:28")
    two_days = table._replace(rows=[*table.rows, ("2026-11-22T10:56:28Z", "b")])
    assert "2026-11-22 10:56:28" in answer_text(Answer("t", [two_days]), 40)


def test_long_texts_are_folded_before_names_are_cut():
    columns = (Column("code", "id"), Column("name"), Column("meaning"), Column("clients"))
    rows = [(6, "NOT_LEADER_OR_FOLLOWER", "is not the leader of the partition " * 3, "refresh their metadata " * 4)]
    assert "NOT_LEADER_OR_FOLLOWER" in answer_text(Answer("t", [Table("errors", columns, rows)]), 70)


def test_a_terminal_gets_units_in_the_heading_and_no_control_characters():
    text = answer_text(answer())
    assert "p99 ms" in text
    assert "12.50" in text
    assert "2026-11-21 10:00:00" in text
    assert "\x1b" not in text
    assert "xxxx" not in text
    assert "1.50 s" in text
    assert "(none)" in text
    assert "2.5" in text


def test_rows_beyond_those_to_be_shown_are_counted_for_people_and_there_for_programs():
    hiding = answer(shown=1)
    assert "… and 1 more" in answer_text(hiding)
    assert "Produce" not in answer_text(hiding)
    assert len(answer_document(hiding)["tables"]["apis"]) == 2


def test_empty_columns_go_and_totals_stay():
    table = Table(
        "t", (Column("name"), Column("empty"), Column("n", "count")), [("a", None, 1)], total=("total", None, 1)
    )
    text = answer_text(Answer("t", [table]))
    assert "empty" not in text
    assert text.splitlines()[-1].split() == ["total", "1"]


def test_a_page_holds_every_block_and_no_markup_of_the_data():
    page = answer_page(answer())
    for kind in ("facts", "table", "bars", "icicle", "note", "outline"):
        assert f'"type":"{kind}"' in page
    assert "<b>" not in page.split("<script type=")[1].split("</script>")[0]
    assert '{"bar":1.0}' in page


def test_a_duration_may_have_its_unit_and_zeros_may_be_left_blank():
    columns = (Column("api"), Column("p99", "duration", unit="ms"), Column("throttled", "count", sparse=True))
    table = Table("t", columns, [("Fetch", 2.5, 0), ("Produce", 0.001, 7)])
    assert [line.split() for line in answer_text(Answer("t", [table])).splitlines()] == [
        ["api", "p99", "ms", "throttled"],
        ["Fetch", "2500.00"],
        ["Produce", "1.00", "7"],
    ]


@pytest.mark.parametrize(
    ("durations", "digits", "lines"),
    [
        ((4.9e-06, None, 2e-07), None, ["p99 µs", "4.90", "", "0.20"]),
        ((5e-06, 2e-07), None, ["p99 ms", "0.01", "0.00"]),
        ((0.0, None), None, ["p99 ms", "0.00"]),
        ((2e-04,), 0, ["p99 ms", "0"]),
    ],
)
def test_a_unit_in_which_all_durations_would_be_zeros_gives_way(durations, digits, lines):
    column = Column("p99", "duration", unit="ms", digits=digits)
    text = answer_text(Answer("t", [Table("t", [column], [(duration,) for duration in durations])]))
    assert [line.strip() for line in text.rstrip().splitlines()] == lines


def test_a_cell_names_a_few_members_of_a_map_and_programs_get_all():
    table = Table("t", (Column("errors", "map"),), [({str(code): 1 for code in range(9)},)])
    assert answer_text(Answer("t", [table])).endswith("1 0, 1 1, 1 2, 1 3, 1 4 (4 more)")
    assert len(answer_document(Answer("t", [table]))["tables"]["t"][0]["errors"]) == 9


def test_tables_and_facts_without_anything_are_not_shown():
    nothing = Answer("t", [Facts([Fact("anomalies", {}, "map")]), Table("t", COLUMNS, [])])
    assert answer_text(nothing) == ""
    assert '"blocks":[]' in answer_page(nothing)


def test_a_page_leaves_out_wide_columns_for_which_it_has_no_room():
    columns = [Column(f"c{at}", "count", wide=at > 9) for at in range(15)]
    assert "c10" not in answer_page(Answer("t", [Table("t", columns, [tuple(range(1, 16))])]))
    assert "c10" in answer_page(Answer("t", [Table("t", columns[:12], [tuple(range(1, 13))])]))


def test_a_table_of_which_nothing_is_to_be_shown_is_for_programs_alone():
    hidden = Answer("t", [Table("apis", COLUMNS, ROWS, shown=0)])
    assert answer_text(hidden) == ""
    assert '"blocks":[]' in answer_page(hidden)
    assert len(answer_document(hidden)["tables"]["apis"]) == 2


def test_what_is_for_programs_alone_and_for_people_alone():
    mixed = Answer(
        "t",
        [
            Facts([Fact("values", {"a": [1]}, "map", wide=True)]),
            Table("rows", (Column("name"),), [("unseen",)], wide=True),
            Outline("", [Item(0, "said")]),
        ],
    )
    document = answer_document(mixed)
    assert document["facts"] == {"values": {"a": [1]}}
    assert document["tables"] == {"rows": [{"name": "unseen"}]}
    assert "said" not in "".join(answer_jsonl(mixed))
    assert answer_text(mixed) == "said"
    page = answer_page(mixed)
    assert "unseen" not in page
    assert "said" in page


SPARKS = Answer(
    "over time",
    [
        Table(
            "groups",
            (Column("name", once=True), Column("start", "instant", digits=3), Column("requests", "spark")),
            [
                ("a", "2026-01-01T00:00:00.123456Z", [0, 1, None, 7.5]),
                ("a", "2026-01-01T00:00:01.5Z", [*range(100)]),
                ("b", None, None),
            ],
        )
    ],
)


def test_numbers_over_time_are_a_line_of_columns_for_eyes():
    lines = answer_text(SPARKS, 80).splitlines()
    assert lines[1] == "a     2026-01-01 00:00:00.123  ▁▂ █"
    assert lines[2].split() == ["2026-01-01", "00:00:01.5", "▂▂▂▂▂▃▃▃▄▄▄▄▅▅▅▆▆▆▇▇▇▇██"]
    assert lines[3] == "b"


def test_numbers_over_time_are_lists_for_programs():
    first, *_ = answer_document(SPARKS)["tables"]["groups"]
    assert first["requests"] == [0, 1, None, 7.5]
    assert [*answer_csv(SPARKS)][1] == "a,2026-01-01T00:00:00.123456Z,0;1;;7.5"
    out = io.BytesIO()
    write_table(out.write, SPARKS.tables[0], "parquet")
    table = pq.read_table(io.BytesIO(out.getvalue()))
    assert table["requests"].to_pylist()[0] == [0.0, 1.0, None, 7.5]
    assert '{"spark":[0,1,null,7.5]}' in answer_page(SPARKS)


@pytest.mark.parametrize("values", [[], [0], [None], [-1, 2], [1e-300, 1e300]])
def test_any_numbers_make_a_line_of_columns(values):
    assert len(spark(values)) == len(values)
    assert [*fewer(values, 24)] == values


def test_many_numbers_share_columns_that_show_the_largest():
    values = [0] * 1000
    values[777] = 5
    assert [value for value in fewer(values, 24) if value] == [5]
    assert len(spark(values)) == 24


@pytest.mark.parametrize("width", [50, 60, 80, 100])
def test_lines_of_an_outline_that_wrap_stand_as_far_in_as_their_item(width):
    text = "one two three four five six seven eight nine ten " * 4
    outline = Outline("", [Item(0, "first", text), Item(1, text), Item(3, f"Meaning: {text}", "last", "error")])
    lines = answer_text(Answer("", [outline]), width).splitlines()
    assert max(map(len, lines)) <= width
    indents = [len(line) - len(line.lstrip()) for line in lines]
    begins = [number for number, line in enumerate(lines) if line.lstrip().startswith(("first", "Meaning"))]
    assert indents[: begins[1]].count(0) == 1  # the first line alone; what follows is further in
    assert {*indents[begins[1] + 1 :]} == {8}
    assert " ".join(" ".join(lines).split()) == " ".join(f"first {text} {text} Meaning: {text} last".split())


def test_spoken_facts_are_for_people_alone():
    facts = Facts(
        [Fact("client", "app, and 3 more", level="warning", spoken=True), Fact("clients", 4, "count", wide=True)]
    )
    report = Answer("", [facts])
    assert answer_text(report) == "client    app, and 3 more"
    assert answer_document(report)["facts"] == {"clients": 4}
    assert json.loads(next(iter(answer_jsonl(report)))) == {"table": "facts", "clients": 4}
    assert "app, and 3 more" in answer_page(report)
