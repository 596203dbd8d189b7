from hypothesis import given, strategies as st

from kwire_cli.view.lines import plain
from kwire_cli.view.widths import Column, cell_width, cut, folded, kept, layout, shrunk, wrapped

TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)


def test_names_lose_their_middle_and_lists_their_end():
    assert cut("orders-of-the-second-app", 12) == "orders…d-app"
    assert cut("orders, payments, a, b, c", 20, "list") == "orders, payments, +3"
    assert cut("a-topic-with-a-long-name, b", 14, "list") == "a-top…name, +1"
    assert cut("ConsumerGroupHeartbeat v1", 14, "call") == "ConsumerGr… v1"
    assert cut("UNKNOWN_TOPIC_OR_PARTITION", 14, "end") == "UNKNOWN_TOPIC…"
    assert cut("13:00:00.141234", 12, "short") == "13:00:00.141"
    assert cut("as it is", 8) == "as it is"


@given(TEXTS, st.integers(1, 40), st.sampled_from(["middle", "end", "list", "call"]))
def test_a_cut_text_is_never_wider(text, width, how):
    assert cell_width(cut(text, width, how)) <= width


def test_wide_characters_take_two_cells():
    assert cell_width("世界 v1") == 7
    assert cut("世界世界世界", 7) == "世…界" or cell_width(cut("世界世界世界", 7)) <= 7


def test_a_path_at_the_beginning_of_a_line_is_no_branch():
    lines = [plain(line).rstrip() for line in folded([[("../specs/Fetch.json:5:3: wire MESSAGE_REMOVED", "")]], 30)]
    assert lines == ["../specs/Fetch.json:5:3: wire", "    MESSAGE_REMOVED"]


@given(TEXTS, st.integers(26, 60))
def test_folded_lines_fit_and_lose_nothing_but_spaces(text, width):
    lines = [plain(line) for line in folded([[("│  ├─ ", "dim"), (text, "")]], width)]
    assert all(cell_width(line) <= width for line in lines)
    whole = plain(next(folded([[("│  ├─ ", "dim"), (text, "")]], 10_000)))
    assert "".join("".join(line.removeprefix("│  │      ") for line in lines).split()) == "".join(whole.split())


def test_columns_go_by_their_rank_and_the_widest_gives_first():
    assert kept([0, 2, 1, 2], [10, 10, 10, 10], 30) == [0, 1, 2]
    assert kept([0, 0], [10, 10], 5) == [0, 1]
    assert shrunk([30, 10, 8], [[5, 5, 8]], 30) == [12, 10, 8]
    assert sum(shrunk([30, 10], [[30, 10]], 20)) == 20


def test_a_value_behind_the_first_rows_has_room_in_its_column():
    columns = (Column("name", least=8), Column("error", least=8, cut="end"))
    table = layout(columns, [("a" * 60, "")], 40)
    assert plain(table.heading()).split() == ["name", "error"]
    assert plain(table.row(("b" * 60, "NOT_CUT"))).endswith("  NOT_CUT")
    assert plain(layout(columns, [("a" * 60, "")], 40, whole=True).heading()) == "name"


def test_columns_go_before_an_intact_one_is_cut():
    columns = (Column("name"), Column("src", keep=4, width=20, least=12), Column("error", least=8, intact=True))
    table = layout(columns, [("a", "127.0.0.1:53426", "UNKNOWN_TOPIC_OR_PARTITION")], 44)
    assert [column.name for column in table.columns] == ["name", "error"]
    assert plain(table.row(("a", "127.0.0.1:53426", "UNKNOWN_TOPIC_OR_PARTITION"))).endswith(
        " UNKNOWN_TOPIC_OR_PARTITION"
    )


@given(TEXTS, st.integers(4, 60))
def test_wrapped_lines_fit(text, width):
    lines = [*wrapped(text, width)]
    assert all(cell_width(line) <= width for line in lines)
    if all(cell_width(word) <= width for word in text.split()):
        assert " ".join(lines).split() == text.split()


def test_long_words_are_continued_after_a_separator():
    assert [*wrapped("1 COORDINATOR_LOAD_IN_PROGRESS", 14)] == ["1 COORDINATOR_", "LOAD_IN_", "PROGRESS"]
    assert [*wrapped("mm2-offset-syncs.B.internal", 20)] == ["mm2-offset-syncs.B.", "internal"]
    assert [*wrapped("a" * 30, 9)] == ["aaaa…aaaa"]


CELLS = st.text(st.characters(codec="utf-8"), max_size=60) | st.text("aβ世_./:, ", max_size=60)
COLUMNS = st.builds(
    Column,
    st.text("abcdefgh", min_size=1, max_size=20),
    keep=st.integers(0, 6),
    width=st.integers(1, 30),
    least=st.integers(4, 20),
    cut=st.sampled_from(["middle", "end", "call", "list", "short"]),
    right=st.booleans(),
    gap=st.integers(1, 3),
    intact=st.booleans(),
)


@given(st.lists(COLUMNS, min_size=1, max_size=9), st.data(), st.integers(20, 200), st.booleans())
def test_no_table_is_wider_than_its_room(columns, data, room, whole):
    row = st.tuples(*[CELLS] * len(columns))
    first, later = data.draw(st.lists(row, max_size=4)), data.draw(st.lists(row, max_size=4))
    table = layout(columns, first, room, whole=whole)
    lines = [table.heading(), *map(table.row, first + later)]
    assert all(cell_width(plain(line)) <= room for line in lines)
