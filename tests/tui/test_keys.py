"""What keys do: panes follow one another, filters, anomalies, pairs, copies."""

import json

import pytest
from kit.captures import packet_of, write_hostile_capture
from kit.commands import ROOT
from kit.logs import committed
from kit.traffic import Talk, Wire, pcap_file
from kit.views import browser, matching, on_screen, opened, press, read, run, say, screen, settled

CAPTURE = ROOT / "samples/captures/kafka-python-4.4.0.pcapng"
SECRET = ROOT / "samples/incidents/sasl.pcap"
BITFLIP = ROOT / "samples/segments/bitflip-0/00000000000000000000.log"
FILES = ("captures/*", "segments/*/*")
ALL = sorted(file for pattern in FILES for file in ROOT.glob(f"samples/{pattern}"))


def lit(browsed):
    """The bytes that are lit up, in hex."""
    start, _, end = browsed.bytes.lit
    return "".join(browsed.seen.buffers[browsed.bytes.buffer].cells(start, end))


def messages(app):
    return [f"{each.title} {each.message}".strip() for each in app._notifications]


def select(browsed, name):
    """Move to a row of the tree by its name, as the user does; the rows above it are open."""
    nodes = [browsed.fields.root]
    for node in nodes:
        nodes += node.children
    browsed.fields.move_cursor(next(node for node in nodes if node.label.plain.strip().startswith(name)))


@pytest.mark.slow
@on_screen(CAPTURE)
async def test_bytes_follow_the_fields(pilot):
    app = pilot.app
    browsed = browser(app)
    await press(pilot, "tab", *["down"] * 6)
    assert browsed.fields.row.name == "clientId"
    assert bytes.fromhex(lit(browsed)) == b"\0\x08kp-admin"
    assert browsed.bytes.border_subtitle == "10 of 44 bytes, 2 of them prefix"
    await press(pilot, "end", "up")
    assert browsed.fields.row.name == "clientSoftwareVersion"
    assert bytes.fromhex(lit(browsed))[1:] == b"3.0.12"


@pytest.mark.parametrize("file", ALL, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_each_byte_leads_to_its_field_and_back(file):
    found = read(file)
    for number in range(min(len(found), 12)):
        look = found.look(number, full=False)
        for at, buffer in enumerate(look.buffers):
            for offset in range(buffer.at, min(buffer.end, buffer.at + 400)):
                row = look.rows[look.row_at(at, offset)]
                assert row.place[0] <= offset < row.place[2]
        assert look.title
        assert len(found.cells(number)) == len(found.columns)
    found.close()


@pytest.mark.slow
@on_screen(CAPTURE)
async def test_the_tree_opens_and_closes(pilot):
    app = pilot.app
    browsed = browser(app)
    await press(pilot, "down", "tab")
    before = browsed.fields.last_line
    await press(pilot, "down", "down", "enter")
    assert browsed.fields.row.name == "header"
    assert browsed.fields.last_line < before
    await press(pilot, "space", "down")
    assert browsed.fields.row.name == "correlationId"
    await press(pilot, "end", "home", "pagedown", "pageup")
    assert browsed.fields.cursor_line == 0


@pytest.mark.slow
@on_screen(CAPTURE)
async def test_a_filter_and_none(pilot):
    app = pilot.app
    browsed = browser(app)
    await say(pilot, "slash", "api == Produce and kind == request")
    titles = [browsed.listing.look(number, full=False).title for number in browsed.rows.chosen]
    assert {title.split(", ")[0].split(": ")[1] for title in titles} == {"Produce request version 9"}
    assert "1 match api == Produce" in screen(app)
    await press(pilot, "escape")
    assert browsed.rows.count == 52
    await say(pilot, "slash", "api ==")
    assert messages(app) == ["No filter filter, column 7: expected a value, found the end"]
    await press(pilot, "slash", "q", "a", "escape")
    assert app.screen is browsed
    assert (browsed.rows.has_focus, browsed.filter_text) == (True, "")
    assert browsed.rows.count == 52
    await say(pilot, "slash", "has topicId")
    assert 0 < browsed.rows.count < 52


@on_screen(CAPTURE, filter_text="size > 800")
async def test_a_filter_from_the_start_waits_for_what_is_still_read(pilot):
    assert [*browser(pilot.app).rows.chosen] == [
        number for number in range(52) if browser(pilot.app).listing.look(number, full=False).buffers[0].size > 800
    ]


@pytest.mark.parametrize(
    ("file", "text", "many"),
    [
        (BITFLIP, "anomaly == CRC_MISMATCH", 1),
        (BITFLIP, "baseOffset < 10 and count == 2", 2),
        (BITFLIP, "records.offset == 41", 1),
        (BITFLIP, "offset == 3", 1),
        (BITFLIP, "compression == zstd and producerId == 1003 and records.keySize > 2", 74),
        (BITFLIP, "kind == batch and size > 100 and time > 2020-01-01T00:00:00Z", 27),
        (SECRET, "has body.authBytes and topic == x", 0),
        (SECRET, "api == SaslAuthenticate and has anomaly", 0),
    ],
)
def test_filters_of_batches_and_frames(file, text, many):
    found = read(file)
    assert len(matching(found, text)) == many
    found.close()


@pytest.mark.slow
@on_screen(CAPTURE)
async def test_pairs(pilot):
    app = pilot.app
    browsed = browser(app)
    await press(pilot, *["down"] * 9)
    assert browsed.fields.border_title.startswith("frame 10: CreateTopics response")
    await press(pilot, "r")
    assert browsed.seen_number == 8
    await press(pilot, "r")
    assert browsed.seen_number == 9
    await say(pilot, "slash", "kind == response and frame == 10")
    await press(pilot, "r")  # a filter that leaves it out is removed
    assert (browsed.seen_number, browsed.rows.count, browsed.filter_text) == (8, 52, "")


@pytest.mark.slow
@on_screen(BITFLIP)
async def test_anomalies(pilot):
    app = pilot.app
    browsed = browser(app)
    await press(pilot, "e")
    assert browsed.fields.root.children[0].label.plain.startswith("! CRC_MISMATCH crc: the batch says")
    assert browsed.fields.row.name == "crc"
    await press(pilot, *["e"] * 20)
    assert messages(app)[-1] == "no more errors below"
    last = browsed.rows.cursor
    await press(pilot, "end", "E")
    assert browsed.rows.cursor == last


@on_screen(BITFLIP)
async def test_the_end_of_a_search_is_not_said_before_it(pilot):
    browsed = browser(pilot.app)
    browsed.shares["looking"] = 0.5
    await pilot.press("end", "e")
    browsed.shares.clear()
    assert messages(pilot.app) == ["no more errors below; the file is still being searched"]


@pytest.mark.parametrize("codec", [0, 1])
def test_anomalies_of_records_in_messages(tmp_path, codec):
    file = tmp_path / "produce.pcap"
    talk = Talk()
    produce = Wire.produce(committed(0, b"\xee\xee", codec=codec), "__consumer_offsets")
    segments = [*talk.handshake(), talk.segment(0, produce)]
    file.write_bytes(pcap_file([packet_of(segment, number) for number, segment in enumerate(segments, 1)]))

    async def steps():
        async with opened(file, size=(160, 30)) as pilot:
            app = pilot.app
            browsed = browser(app)
            assert "TRAILING_BYTES" in screen(app)
            assert "1 anomaly" in browsed.fields.border_subtitle
            path = "topicData[0].partitionData[0].records[0].records[1].value"
            assert f"! TRAILING_BYTES {path}: 2 bytes" in browsed.fields.root.children[0].label.plain
            assert browsed.fields.row is None if codec else lit(browsed).endswith("eeee")

    run(steps())


@on_screen(CAPTURE)
async def test_copies(pilot):
    app = pilot.app
    browsed = browser(app)
    await press(pilot, *["down"] * 8, "y")
    document = json.loads(app.clipboard)
    assert document["api"] == "CreateTopics"
    await press(pilot, "x")
    assert bytes.fromhex(app.clipboard) == browsed.seen.buffers[0].data
    assert len(app.clipboard) == 2 * document["size"]
    await press(pilot, "tab")
    select(browsed, "name: ")
    await press(pilot, "x")
    assert bytes.fromhex(app.clipboard)[1:] == b"t-kafka-python"


@pytest.mark.parametrize("shown", [False, True])
def test_secrets_are_not_shown_and_not_copied_unless_asked_for(shown):
    async def steps():
        async with opened(SECRET, show_secrets=shown) as pilot:
            app = pilot.app
            seen = []
            await say(pilot, "slash", "api == SaslAuthenticate and kind == request")
            for key in ("x", "y", "tab", "end", "up", "x"):
                await press(pilot, key)
                seen += [screen(app), app.clipboard]
            assert any("**" in text for text in seen) != shown
            assert any("<redacted " in text for text in seen) != shown

    run(steps())


def test_all_of_a_large_batch(monkeypatch):
    from kwire_cli.view import bounded_outline

    monkeypatch.setattr(bounded_outline, "MOST_NODES", 10)
    monkeypatch.setattr(bounded_outline, "MOST_BYTES", 32)

    async def steps():
        async with opened(CAPTURE) as pilot:
            app = pilot.app
            browsed = browser(app)
            await press(pilot, "down")
            assert len(browsed.seen.rows) == 10
            cut = len(browsed.seen.buffers[0].data)
            assert f"the first {cut} of 899" in browsed.bytes.border_title
            assert cut <= 32
            assert "f shows them" in browsed.fields.border_subtitle
            await press(pilot, "f")
            assert len(browsed.seen.rows) > 400
            assert len(browsed.seen.buffers[0].data) == 899
            await press(pilot, "f", "x")
            assert messages(app)[-1].startswith(f"hex of the first {cut} of 899 bytes: ")
            assert len(browsed.seen.rows) == 10
            assert len(app.clipboard) == 2 * cut

    run(steps())


@pytest.mark.slow
def test_the_screen_can_become_larger_and_smaller(tmp_path):
    file = write_hostile_capture(tmp_path / "hostile.pcap")

    async def steps():
        async with opened(file, (200, 60)) as pilot:
            for size in ((20, 5), (1, 1), (190, 50)):
                await pilot.resize_terminal(*size)
                await press(pilot, "question_mark", "end", "escape", "end", "tab", "end")
            assert pilot.app.return_code in {0, None}

    run(steps())


@pytest.mark.slow
@on_screen(CAPTURE, size=(120, 40))
async def test_help_and_the_mouse(pilot):
    app = pilot.app
    browsed = browser(app)
    await press(pilot, "question_mark")
    assert "key e  next error or anomaly; E: the one before" in screen(app)
    await press(pilot, "escape")
    assert app.screen is browsed
    await pilot.click("#list", offset=(10, 4))
    await settled(pilot)
    assert browsed.seen_number == 3
    await pilot.click("#fields", offset=(10, 5))
    assert browsed.fields.row.name == "(tagged fields)"
    await pilot.click("#fields", offset=(6, 3))
    assert browsed.fields.row.name == "header"


def test_what_goes_wrong_in_a_thread_is_said(monkeypatch):
    from kwire_cli.errors import InputError
    from kwire_cli.tui.captures import Captures

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    def unreadable(*_, **__):
        raise InputError("\x1b[2J cannot be read")

    monkeypatch.setattr("kwire_cli.tui.captures.Captures._add", full_disk)
    monkeypatch.setattr(Captures, "look", unreadable)

    async def steps():
        async with opened(CAPTURE) as pilot:
            assert messages(pilot.app) == ["reading ends here [Errno 28] No space left on device"]
            monkeypatch.undo()
            monkeypatch.setattr(Captures, "look", unreadable)
        async with opened(CAPTURE) as pilot:
            assert messages(pilot.app) == ["this can't be shown \\x1b[2J cannot be read"]

    run(steps())
