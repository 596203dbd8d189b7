"""Rows of hex that tools print, each of which holds the same request."""

import pytest

from kwire_cli.source.text.reading import read_input

REQUEST = bytes.fromhex("00000023001200030000000700096b61666b612d636c69000a6b61666b612d636c6904302e3100")
CHARACTERS = ("...#..........ka", "fka-cli..kafka-c", "li.0.1.")


class Part(bytes):
    """A row's bytes, which a format string writes as hex."""

    def __format__(self, width):
        return f"{self.hex(' '):{width}}"


PARTS = [Part(REQUEST[at : at + 16]) for at in (0, 16, 32)]


def spaced(part):
    return "  ".join(part[at : at + 8].hex(" ") for at in range(0, len(part), 8))


def dump(row):
    return "\n".join(
        row.format(at=at * 16, part=part, characters=characters, eight=spaced(part))
        for at, (part, characters) in enumerate(zip(PARTS, CHARACTERS, strict=True))
    )


ROWS = {
    "python hexdump, not padded": ("xxd", dump("{at:08x}: {eight}  {characters}")),
    "a tester's rows": ("hexdump", dump("{at:04x} | {part:<47} | {characters}")),
    "a tester's log": (
        "log",
        "Received a response:\n" + dump("remote: [tester::#PV1] {at:04x} | {part:<47} | {characters}"),
    ),
}


@pytest.mark.parametrize(("form", "text"), ROWS.values(), ids=ROWS)
def test_all_rows_hold_the_same_request(form, text):
    found = read_input(text.encode())
    assert (found.form, [chunk.data for chunk in found.chunks], found.notes) == (form, [REQUEST], ())


def test_two_messages_in_the_log_of_a_tester_are_two_chunks():
    rows = dump("[tester] {at:04x} | {part:<47} | {characters}")
    text = f"Sent:\n{rows}\n[tester] \nReceived:\n[tester] Idx  | Hex | ASCII\n{rows}\n"
    assert [(chunk.data, chunk.line) for chunk in read_input(text.encode()).chunks] == [(REQUEST, 2), (REQUEST, 8)]


def test_characters_that_look_like_digits_are_none():
    text = "00000000: 36 31 20 36 32                                    61 62\n"
    assert [chunk.data for chunk in read_input(text.encode()).chunks] == [b"61 62"]
