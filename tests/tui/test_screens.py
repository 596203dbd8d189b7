"""What is on the screen: `pytest --update` writes the golden files anew; look at them before committing them."""

import re
from html import unescape
from pathlib import Path

import pytest
from kit import traffic as make
from kit.captures import write_hostile_capture
from kit.commands import ROOT
from kit.views import ROWS, browser, opened, press, run, say, screen, strips

GOLDEN = Path(__file__).parent / "golden"
CAPTURE = "samples/captures/kafka-python-4.4.0.pcapng"
SHOWN = [
    ("capture", CAPTURE, "80x24", ["down", "tab", *["down"] * 5]),
    ("capture", CAPTURE, "200x60", ["end", "r", "tab", "down", "down", "down"]),
    ("commands", CAPTURE, "80x24", ["question_mark"]),
    ("not-kafka", "samples/captures/not-kafka.pcapng", "80x24", []),
    ("midstream", "samples/captures/midstream.pcap", "80x24", ["pagedown", "pagedown"]),
    ("segment", "samples/segments/__consumer_offsets-0/00000000000000000000.log", "200x60", ["down", "tab", "end"]),
    ("segment", "samples/segments/orders-zstd-0/00000000000000000000.log", "80x24", ["tab", "end"]),
    ("damaged-segment", "samples/segments/bitflip-0/00000000000000000000.log", "80x24", ["e", "tab"]),
    ("secret", "samples/incidents/sasl.pcap", "80x24", [*["down"] * 4, "tab", "end", "up"]),
]


def hold(name, text, updating):
    file = GOLDEN / f"{name}.txt"
    if updating:
        file.write_text(text, "utf-8")
    else:
        assert text == file.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file", "size", "keys"), SHOWN, ids=[f"{name}-{size}" for name, _, size, _ in SHOWN])
def test_samples(name, file, size, keys, updating, monkeypatch):
    monkeypatch.chdir(ROOT)

    async def steps():
        async with opened(file, ROWS[size]) as pilot:
            await press(pilot, *keys)
            pilot.app.clear_notifications()
            await pilot.pause()
            hold(f"{name}-{size}", screen(pilot.app), updating)

    run(steps())


@pytest.mark.slow
@pytest.mark.parametrize("size", ROWS)
def test_an_empty_capture(size, tmp_path, updating, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty.pcap").write_bytes(make.pcap_file([]))

    async def steps():
        async with opened("empty.pcap", ROWS[size]) as pilot:
            hold(f"empty-{size}", screen(pilot.app), updating)
            if size == "200x60":
                return
            await press(pilot, "down", "tab", "down", "e", "r", "x", "y", "enter", "f", "end")
            await say(pilot, "slash", "api == Fetch")

    run(steps())


def segments(app):
    return [segment for strip in strips(app) for segment in strip]


@pytest.mark.slow
@pytest.mark.parametrize("size", ROWS)
def test_nothing_from_the_bytes_reaches_the_terminal_as_more_than_text(size, tmp_path, updating, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = write_hostile_capture(Path("hostile.pcap"))

    async def steps():
        async with opened(file, ROWS[size]) as pilot:
            app = pilot.app
            hold(f"hostile-{size}", screen(app), updating)
            assert "[red]\\x1b[2J" in screen(app)
            for key in ("tab", "down", "down", "down", "e", "end", "e", "home", "down", "e", "y", "x"):
                await press(pilot, key)
                found = segments(app)
                assert all(segment.text.isprintable() and not segment.control for segment in found)
                assert not any(
                    segment.style and segment.style.meta.get("@click")
                    for segment in found
                    if "app.quit" in segment.text
                )
                app.clear_notifications()

    run(steps())


@pytest.mark.slow
def test_a_file_name_and_a_filter_are_only_text(tmp_path):
    file = write_hostile_capture(tmp_path / "[bold]\x1b[2J.pcap")

    async def steps():
        async with opened(file, (200, 60)) as pilot:
            await say(pilot, "slash", 'client ~ "[red]"')
            assert all(segment.text.isprintable() for segment in segments(pilot.app))
            assert "[bold]\\x1b[2J.pcap" in screen(pilot.app)
            assert '[red]"' in screen(pilot.app)
            await say(pilot, "slash", "[red]\x1b[2J")
            assert all(segment.text.isprintable() for segment in segments(pilot.app))

    run(steps())


def svg_text(svg):
    """The text of a screenshot without its spaces, line by line."""
    rows = {}
    for x, y, text in re.findall(r'<text class="[^"]*-r\d+" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        rows.setdefault(float(y), []).append((float(x), unescape(text).replace("\xa0", " ")))
    found = ["".join("".join(text for _, text in sorted(pieces)).split()) for _, pieces in sorted(rows.items())]
    return [text for text in found if text]


SCREENSHOTS = {
    "tui": (CAPTURE, "api in (Produce, Fetch) and size > 100", ["down", "tab", "pagedown"]),
    "tui-findings": ("samples/incidents/rebalancing.pcap", "", ["2"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCREENSHOTS)
def test_the_screenshots_of_the_page(name, updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    file = ROOT / "docs" / "images" / f"{name}.svg"
    capture, chosen, keys = SCREENSHOTS[name]

    async def steps():
        async with opened(capture, (140, 36)) as pilot:
            if chosen:
                await say(pilot, "slash", chosen)
            await press(pilot, *keys)
            if updating:
                file.parent.mkdir(exist_ok=True)
                file.write_text(pilot.app.export_screenshot(title="kwire tui", simplify=True) + "\n", "utf-8")
            now = [words for line in screen(pilot.app).splitlines() if (words := "".join(line.split()))]
            assert svg_text(file.read_text("utf-8"))[-len(now) :] == now

    run(steps())


def test_values_are_decoded_by_their_schema(monkeypatch):
    monkeypatch.chdir(ROOT / "samples" / "schemas")

    async def steps():
        file = "avro-orders-0/00000000000000000000.log"
        async with opened(
            file, (160, 60), schemas=("_schemas-0",), key="text", redact=("value.customer.name",)
        ) as pilot:
            await press(pilot, "down", "tab", "end")
            fields = browser(pilot.app).fields
            while fields.scroll_offset.y < fields.max_scroll_y:  # the tree scrolls after it was drawn
                await pilot.pause(0.02)
            text = screen(pilot.app)
            assert "vip: true" in text
            assert "avro: the value ends early, after 149 bytes" in text
            assert "Ada" not in text
            assert 'name: "<redacted 3 bytes>"' in text

    run(steps())
