"""Answers in the terminal interface: their rows, what is below them, and the way to their frames."""

import pytest
from kit import traffic as make
from kit.captures import write_hostile_capture
from kit.commands import ROOT, kwire, slow
from kit.views import browser, on_screen, opened, press, run, say, screen, strips

import kwire_cli
from kwire_cli.answer import Column, Table
from kwire_cli.tui.answer_rows import detail_of, frames_of, shown_columns

pytestmark = pytest.mark.usefixtures("few_rules")

PERMISSIONS = ROOT / "samples/incidents/permissions.pcap"
LOG = ROOT / "samples/segments/__consumer_offsets-0/00000000000000000000.log"


def evidence(file):
    """The frames of each finding."""
    (table,) = kwire_cli.diagnose(file).tables
    return [frames_of(table, row) for row in table.rows]


def row_of(browsed):
    return browsed.answers.tables[browsed.answers.table], browsed.answers.row


@pytest.mark.slow
@on_screen(PERMISSIONS)
async def test_a_finding_leads_to_its_frames(pilot):
    app = pilot.app
    browsed = browser(app)
    await press(pilot, "2")
    assert "AUTHORIZATION_FAILED" in screen(app)
    assert "meaning" in screen(app)
    (table, row), found = row_of(browsed), evidence(PERMISSIONS)
    assert frames_of(table, row) in found
    await press(pilot, "enter")
    assert browsed.view == 0
    assert [at + 1 for at in browsed.rows.chosen] == frames_of(table, row)
    await press(pilot, "2", "escape")
    assert browsed.view == 0
    assert browsed.filter_text


@pytest.mark.slow
@on_screen(PERMISSIONS)
async def test_errors_one_after_another(pilot):
    app = pilot.app
    browsed = browser(app)
    failed = [at for at in range(len(browsed.listing)) if browsed.listing.line(at).errors]
    found = []
    for _ in failed:
        await press(pilot, "e")
        found.append(browsed.rows.number)
    assert found == failed
    await press(pilot, "E")
    assert browsed.rows.number == failed[-2]
    await press(pilot, "5", "home", "e")
    table, row = row_of(browsed)
    assert frames_of(table, row) == [failed[0] + 1]
    await press(pilot, "enter")
    assert (browsed.view, browsed.rows.number) == (0, failed[0])


@pytest.mark.slow
@on_screen(PERMISSIONS)
async def test_rows_are_sorted_and_the_cursor_stays(pilot):
    app = pilot.app
    browsed = browser(app)
    await press(pilot, "4", *["s"] * 2)
    answers = browsed.answers
    table, _ = row_of(browsed)
    counts = [table.rows[number][1] for number in answers.order]
    assert counts == sorted(counts, reverse=True)
    for _ in shown_columns(table)[1:]:
        await press(pilot, "s")
    assert answers.order == [*range(len(table.rows))]


@on_screen(LOG)
async def test_an_answer_has_several_tables_and_a_log_fewer_views(pilot):
    await press(pilot, "3")
    assert "old-group-grp09" in screen(pilot.app)
    answers = browser(pilot.app).answers
    names = [table.name for table in answers.tables]
    assert names == ["groups", "events", "members", "assignments"]
    for name in (*names[1:], names[0]):
        await press(pilot, "t")
        assert answers.tables[answers.table].name == name
        assert answers.row == next(iter(answers.tables[answers.table].rows))
    await press(pilot, "6")
    assert [note.message for note in pilot.app._notifications] == ["the views are 1 to 3: Batches, Findings, Groups"]


@on_screen(PERMISSIONS)
async def test_views_that_there_are_not(pilot):
    app = pilot.app
    await press(pilot, "6")
    assert "by api" in screen(app)
    await press(pilot, "enter", "w")
    said = [note.message for note in app._notifications]
    assert said == ["this row names no frame", "mark frames with m, or choose frames with /, first"]


def test_a_question_without_an_answer_says_why(tmp_path):
    capture = tmp_path / "empty.pcap"
    capture.write_bytes(make.pcap_file([]))

    async def steps():
        async with opened(capture, (200, 60)) as pilot:
            await press(pilot, "4")
            assert "no packets: this capture is empty" in screen(pilot.app)

    run(steps())


@pytest.mark.parametrize("suffix", ["pcap", slow("pcapng")])
def test_packets_of_marked_frames_are_those_that_decode_copies(tmp_path, suffix):
    mine, expected = tmp_path / f"mine.{suffix}", tmp_path / f"expected.{suffix}"

    async def steps():
        async with opened(PERMISSIONS) as pilot:
            await press(pilot, *["down"] * 4, "m", "m", "down", "m", "m", "up", "m")  # a mark is taken away again
            await say(pilot, "w", str(mine))
            await say(pilot, "w", str(mine))
            notes = [f"{note.title}: {note.message}" for note in pilot.app._notifications]
            assert "the packets of 3 frames are written as captured" in notes[0]
            assert "this file exists" in notes[1]
            return sorted(number + 1 for number in browser(pilot.app).rows.marked)

    marked = run(steps())
    assert marked == [5, 6, 8]
    chosen = f"frame in ({', '.join(map(str, marked))})"
    assert kwire("decode", PERMISSIONS, "--filter", chosen, "-o", expected).code == 0
    assert mine.read_bytes() == expected.read_bytes()


def test_only_captures_have_packets(tmp_path):
    async def steps():
        async with opened(LOG) as pilot:
            await press(pilot, "m")
            await say(pilot, "w", str(tmp_path / "a.pcap"))
            assert [note.message for note in pilot.app._notifications] == ["only a capture has packets"]

    run(steps())
    assert not [*tmp_path.iterdir()]


@on_screen(PERMISSIONS)
async def test_the_palette_has_all_views(pilot):
    await press(pilot, "colon", *"seque", "enter")
    assert browser(pilot.app).view == 4
    commands = [command.title for command in pilot.app.get_system_commands(pilot.app.screen)]
    assert [title for title in commands if title.startswith("View ")] == [
        f"View {name}" for name in ("Frames", "Findings", "Groups", "Stats", "Sequence", "Costs")
    ]
    assert "Copy as hex" in commands


@pytest.mark.slow
def test_answers_about_hostile_bytes_are_only_text(tmp_path):
    file = write_hostile_capture(tmp_path / "hostile.pcap")

    async def steps():
        async with opened(file, (200, 60)) as pilot:
            for key in "23456":
                await press(pilot, key, "end", "home")
                segments = [segment for strip in strips(pilot.app) for segment in strip]
                assert all(segment.text.isprintable() and not segment.control for segment in segments)

    run(steps())


def test_a_row_has_all_columns_below_the_list():
    columns = (Column("name"), Column("took", "duration"), Column("meaning", wide=True), Column("evidence", "list"))
    table = Table(
        "rows", columns, [("a", 0.0042, "a long text " * 9, [{"what": "request", "frame": 7}]), ("b", None, "", [])]
    )
    assert [column.column.name for column in shown_columns(table)] == ["name", "took"]
    text = detail_of(table, table.rows[0], 40).splitlines()
    assert text[:2] == ["name      a", "took      4.20 ms"]
    assert text[-1] == "evidence  request, frame 7"
    assert all(len(line) <= 40 for line in text)
    assert detail_of(table, table.rows[1], 40) == "name  b"
