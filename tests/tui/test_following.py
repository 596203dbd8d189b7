"""Files that grow, folders, and the order of the list."""

import pytest
from kit.captures import packet_of
from kit.commands import ROOT
from kit.logs import batch, record
from kit.traffic import Talk, Wire, pcap_file
from kit.views import browser, on_screen, opened, opener, press, run, running, say, screen, settled

from kwire_cli.cli.tui import files_of
from kwire_cli.tui.app import Folder

CAPTURE = ROOT / "samples/captures/kafka-python-4.4.0.pcapng"


async def grown(pilot, count):
    """Wait until a file that grows has so many entries, and all of them were looked at."""
    while len(browser(pilot.app).listing) < count:
        await pilot.pause(0.02)
    await settled(pilot)  # which shows the new entries
    await settled(pilot)


def requests(count):
    """The bytes of a capture of some Metadata requests."""
    talk = Talk()
    segments = [*talk.handshake(), *(talk.segment(0, Wire.request("Metadata", version=4)) for _ in range(count))]
    return pcap_file([packet_of(segment, number) for number, segment in enumerate(segments, 1)])


def test_the_cursor_stays_at_the_end_of_a_capture_that_grows(tmp_path):
    file = tmp_path / "live.pcap"
    whole = requests(6)
    file.write_bytes(b"")  # tcpdump writes nothing before its first packets

    async def steps():
        async with opened(file, follows=True) as pilot:
            browsed = browser(pilot.app)
            assert "0 frames  ·  following" in screen(pilot.app)
            file.write_bytes(requests(3))
            await grown(pilot, 3)
            assert browsed.seen_number == 2
            await say(pilot, "slash", "size > 0")
            with file.open("ab") as growing:
                growing.write(whole[file.stat().st_size :])
            await grown(pilot, 6)
            assert [*browsed.search.numbers] == [*range(6)]
            assert (browsed.rows.number, browsed.seen_number) == (5, 5)
            await press(pilot, "escape", "home", "F")
            while browsed.shares or "following" in screen(pilot.app):  # the state is shown ten times a second
                await pilot.pause(0.02)

    run(steps())


def test_a_segment_that_grows(tmp_path):
    file = tmp_path / "00000000000000000000.log"
    batches = [batch(number, [record(None, b"a")]) for number in range(3)]
    file.write_bytes(batches[0] + batches[1][:20])

    async def steps():
        async with opened(file) as pilot:
            assert "2 batches" in screen(pilot.app)  # the second one is cut
            await press(pilot, "F")
            await grown(pilot, 1)
            assert "1 batch  ·  following" in screen(pilot.app)
            file.write_bytes(b"".join(batches) + bytes(100))  # reserved bytes are no batch yet
            await grown(pilot, 3)
            browsed = browser(pilot.app)
            assert browsed.rows.number == 2
            assert browsed.fields.border_title.startswith("at ")
            file.write_bytes(b"")
            while not pilot.app._notifications:
                await pilot.pause(0.02)
            [note] = pilot.app._notifications
            assert note.message == "the file became shorter while it was followed"

    run(steps())


def test_a_folder_of_segments_and_captures(tmp_path):
    folder = tmp_path / "orders-0"
    folder.mkdir()
    for offset in (0, 7):
        (folder / f"{offset:020}.log").write_bytes(batch(offset, [record(None, b"a")]))
    (tmp_path / "a.pcap").write_bytes(requests(2))
    files = files_of(str(tmp_path))
    assert [(file.name, file.kind) for file in files] == [
        (f"orders-0/{0:020}.log", "segment"),
        (f"orders-0/{7:020}.log", "segment"),
        ("a.pcap", "capture"),
    ]

    async def steps():
        async with running(Folder(str(tmp_path), files, opener({}), "", follows=False)) as pilot:
            app = pilot.app
            assert "3 files" in screen(app)
            await press(pilot, "down", "enter")
            assert "offset 7" in browser(app).fields.border_title
            await press(pilot, "2", "escape", "escape", "down", "enter")
            assert "2 frames" in screen(app)
            await press(pilot, "escape")
            assert isinstance(app.screen, Folder)
            (tmp_path / "a.pcap").unlink()
            await press(pilot, "enter")
            assert isinstance(app.screen, Folder)
            assert len(app._notifications) == 1

    run(steps())


@on_screen(CAPTURE)
async def test_frames_are_sorted_by_their_columns(pilot):
    browsed = browser(pilot.app)
    await press(pilot, *["down"] * 9)
    for name in ("time", "size", "latency"):
        await press(pilot, "s")
        value = browsed.listing.sort_value(name)
        values = [(-value(number), number) for number in browsed.rows.chosen]
        assert values == sorted(values)
        assert len(values) == 52
        assert f"by {name}" in screen(pilot.app)
        assert browsed.rows.number == 9
    await say(pilot, "slash", "kind == response")
    assert browsed.listing.line(browsed.rows.chosen[0]).latency > 0.5
    await press(pilot, "s")
    assert [*browsed.rows.chosen] == [*browsed.search.numbers]


@on_screen(ROOT / "samples/incidents/permissions.pcap")
async def test_the_next_error_while_the_list_is_sorted(pilot):
    browsed = browser(pilot.app)
    await press(pilot, "s", "s", "home", "e")
    lines = [line for line, number in enumerate(browsed.rows.chosen) if browsed.listing.is_error(number)]
    assert browsed.rows.cursor == lines[0]


@pytest.mark.slow
@on_screen(CAPTURE)
async def test_a_prompt_over_an_answer_returns_to_it(pilot):
    await press(pilot, "m", "3", "w", "escape")
    assert browser(pilot.app).answers.grid.has_focus
