"""No secret is on the screen of the terminal interface, whatever row somebody walks to, and whatever bytes are missing
or too many.
"""

import pytest
from kit.secrets import CATALOG, NEWEST, answered, body_of, capture, conversation, damages, framed, numbers, shows
from kit.views import opened, press, run, screen

FRAMES = [row for row in NEWEST if row[0].endswith(("Request", "Response"))]
DAMAGES = ["whole", "missing 1"]
SIZE = 160, 110
"""Rows for all fields and bytes of any frame here, so that nothing has to be scrolled to."""


async def walk(file, rows, **options):
    """Go to each row and look at the screen, which has the list, the fields and the bytes."""
    async with opened(file, size=SIZE, **options) as pilot:
        for _ in range(rows):
            text = screen(pilot.app)
            assert not shows(text)
            assert not numbers(text)
            await press(pilot, "down")
        await press(pilot, "tab", "end", "tab", "end")
        assert not shows(screen(pilot.app))


@pytest.mark.slow
@pytest.mark.parametrize("how", DAMAGES)
def test_no_row_of_frames_shows_a_secret(how, tmp_path):
    lines = []
    for message, path, version in FRAMES:
        body, key = body_of(message, path, version), CATALOG[message].api_key
        frame = framed(key, version, body) if message.endswith("Request") else answered(key, version, body)
        lines.append(dict(damages(frame))[how].hex())
    file = tmp_path / "frames.hex"
    file.write_text("\n".join(lines))
    run(walk(file, len(lines), form="hex-lines"))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(DAMAGES)), ids=DAMAGES)
def test_no_row_of_a_capture_shows_a_secret(number, tmp_path):
    message, path, version = FRAMES[2 * number]
    before, (side, frame), after = conversation(message, version, body_of(message, path, version))
    file = tmp_path / "secret.pcap"
    file.write_bytes(capture([*before, (side, dict(damages(frame))[DAMAGES[number]]), *after]))
    run(walk(file, 6))
