"""Answers as Markdown, read by a parser of Markdown: every cell has its text and nothing else."""

from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from kwire_cli.answer import Answer, Chart, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.view.lines import escaped
from kwire_cli.view.markdown import answer_markdown

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = st.text(st.sampled_from("ab_*`|<>\\[]()!#-+=1.&;~$ \n\x1b\u202e\u00e9"), max_size=12) | st.text(max_size=12)


def tokens(answer):
    return READER.parse("\n".join(answer_markdown(answer)))


def plain(token):
    """The text of an inline token. Fails if the token has any markup."""
    kinds = {child.type for child in token.children}
    assert kinds <= {"text", "text_special"}, (token.content, kinds)
    return "".join(child.content for child in token.children)


def table_cells(answer):
    """Rows of cells of all tables, headings first; bold cells of totals as they are."""
    rows = []
    for token in tokens(answer):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and token.level > 3:
            rows[-1].append(token)
    return rows


@given(st.lists(st.tuples(HOSTILE, HOSTILE), min_size=1, max_size=3), HOSTILE)
def test_no_text_of_a_table_is_markup(rows, heading):
    rows = [(first, f"x{second}") for first, second in rows]
    columns = (Column("first", title=f"h{heading}"), Column("second"))
    head, *cells = table_cells(Answer("t", [Table("t", columns, [("x", "y"), *rows])]))
    assert [plain(cell) for cell in head] == [escaped(f"h{heading}").strip(), "second"]
    assert [[plain(cell) for cell in row] for row in cells[1:]] == [
        [escaped(first).strip(), escaped(second).strip()] for first, second in rows
    ]


@given(HOSTILE, st.sampled_from(["", "info", "error"]))
def test_no_text_of_a_note_or_fact_is_markup(text, level):
    answer = Answer(f"t{text}", [Note(f"n{text}", level), Note(text, level), Facts([Fact("who", f"f{text}")])])
    found = [token for token in tokens(answer) if token.type == "inline"]
    assert plain(found[0]) == escaped(f"t{text}").strip()
    texts = [" ".join(child.content for child in token.children) for token in found[1:]]
    assert all(not token.type.startswith(("heading", "hr", "code")) for token in tokens(answer)[3:])
    assert texts[-1].replace(" ", "") == f"who:f{escaped(text)}".replace(" ", "")


@given(st.lists(HOSTILE, max_size=4))
def test_an_outline_is_one_block_of_code(texts):
    [*_, block] = tokens(Answer("t", [Outline("o", [Item(0, text) for text in texts])]))
    assert (block.type, block.info) == ("fence", "text")
    assert block.content == "".join(f"{escaped(text)}\n" for text in texts)


def test_totals_are_bold_and_hidden_rows_are_counted():
    columns = (Column("api"), Column("bytes", "bytes"), Column("drawn", "bar"))
    table = Table("t", columns, [("a", 1, 1), ("b", 2, 2)], total=("all", 3, None), shown=1, note="see *docs*")
    assert [*answer_markdown(Answer("costs", [table]))][2:] == [
        "| api | bytes |",
        "| --- | ---: |",
        "| a | 1 |",
        "| **all** | **3** |",
        "",
        "… and 1 more",
        "",
        r"see \*docs\*",
    ]


def test_levels_are_alerts_and_charts_stay_away():
    chart = Chart("bars", "bytes", [("Fetch", 3)])
    assert [*answer_markdown(Answer("t", [Note("cut", "warning"), chart]))] == [
        "## t", "", "> [!WARNING]", "> cut",
    ]  # fmt: skip
