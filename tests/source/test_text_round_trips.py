"""Random bytes written in each form, as its tool writes them, come back under auto."""

import base64
import json

import pytest
from hypothesis import example, given, strategies as st

from kwire_cli.source.text.reading import read_input


def gutter(data):
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)


def xxd(data, width=16, group=2):
    room = width * 2 + width // group - 1 if group else width * 2
    rows = []
    for at in range(0, len(data), width):
        row = data[at : at + width]
        digits = row.hex(" ", -group) if group else row.hex()
        rows.append(f"{at:08x}: {digits:<{room}}  {gutter(row)}")
    return "\n".join(rows)


def spaced(row):
    return f"{row[:8].hex(' ')}  {row[8:].hex(' ')}".strip()


def squeeze(rows, keys):
    """Rows equal to the one before become one `*`, except the last."""
    out = []
    for index, row in enumerate(rows):
        if 0 < index < len(rows) - 1 and keys[index] == keys[index - 1]:
            if out[-1] != "*":
                out.append("*")
        else:
            out.append(row)
    return out


def parts(data, width=16):
    return [data[at : at + width] for at in range(0, len(data), width)]


def hexdump_c(data):
    rows = [f"{index * 16:08x}  {spaced(row):<48}  |{gutter(row)}|" for index, row in enumerate(parts(data))]
    return "\n".join([*squeeze(rows, parts(data)), f"{len(data):08x}"])


def words(offset, size, digits):
    def write(data):
        rows = []
        for index, row in enumerate(parts(data)):
            units = [int.from_bytes(row[at : at + size], "little") for at in range(0, len(row), size)]
            rows.append(" ".join([offset(index * 16), *(digits(unit) for unit in units)]))
        return "\n".join([*rows, offset(len(data))])

    return write


def od_x1z(data):
    rows = [f"{index * 16:06x} {row.hex(' '):<47}  >{gutter(row)}<" for index, row in enumerate(parts(data))]
    return "\n".join([*squeeze(rows, parts(data)), f"{len(data):06x}"])


def wireshark(data):
    return "\n".join(f"{index * 16:04x}   {row.hex(' '):<47}   {gutter(row)}" for index, row in enumerate(parts(data)))


def follow(data):
    return "\n".join(
        f"{index * 16:08X}  {spaced(row):<48}  {gutter(row[:8])} {gutter(row[8:])}"
        for index, row in enumerate(parts(data))
    )


def tcpdump_ascii(data):
    return "IP a > b: length 1\n" + "\n".join(
        f"\t0x{index * 16:04x}:  {row.hex(' ', -2):<39}  {gutter(row)}" for index, row in enumerate(parts(data))
    )


def c_string(data):
    return '"' + '"\n"'.join("".join(f"\\x{byte:02x}" for byte in row) for row in parts(data)) + '"'


def strace(data):
    """Octal escapes, as short as the next character allows."""
    out = []
    for at, byte in enumerate(data):
        digit = data[at + 1 : at + 2].isdigit()
        out.append(
            chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" if digit else f"\\{byte:o}"
        )
    return f'write(7, "{"".join(out)}\\0", {len(data)}) = {len(data)}'


def java(data):
    return str([byte - 256 if byte > 127 else byte for byte in data])


def json_string(data):
    return json.dumps({"raw": (data + b"\0").decode("latin-1")})


def table(data):
    return "Idx  | Hex | ASCII\n-----+-----+-----\n" + "\n".join(
        f"{index * 16:04x} | {row.hex(' '):<47} | {gutter(row)}" for index, row in enumerate(parts(data))
    )


def netty(data):
    rows = [f"|{index * 16:08x}| {row.hex(' '):<47} |{gutter(row):<16}|" for index, row in enumerate(parts(data))]
    return "\n".join(["+--------+------+------+", *rows, "+--------+------+------+"])


def python_hexdump(data):
    rows = [f"{index * 16:08X}: {spaced(row):<48}  {gutter(row)}" for index, row in enumerate(parts(data))]
    return "\n".join(rows)


FORMS = {
    "hex": [
        bytes.hex,
        lambda data: data.hex(" "),
        lambda data: data.hex(":"),
        lambda data: ", ".join(f"0x{byte:02x}" for byte in data),
    ],
    "xxd": [
        xxd,
        lambda data: xxd(data, 7, 1),
        lambda data: xxd(data, 16, 0),
        lambda data: xxd(data, 32, 4),
        lambda data: xxd(data, 10, 3),
        python_hexdump,
    ],
    "hexdump": [hexdump_c, table, netty, words(lambda at: f"{at:07x}", 2, lambda unit: f"{unit:04x}")],
    "od": [
        od_x1z,
        words(lambda at: f"{at:07o}", 2, lambda unit: f"{unit:04x}"),
        words(lambda at: f"{at:07o}", 1, lambda unit: f"{unit:02x}"),
    ],
    "wireshark": [wireshark, follow],
    "tcpdump": [tcpdump_ascii],
    "literal": [
        c_string,
        lambda data: "unsigned char x[] = {" + ", ".join(str(byte) for byte in data) + "};",
        java,
        repr,
        lambda data: f"bytes({list(data)})",
        lambda data: f"<Buffer {data.hex(' ')}>",
        lambda data: str(list(data)),
        lambda data: json.dumps({"type": "Buffer", "data": list(data)}),
        lambda data: json.dumps({str(index): byte for index, byte in enumerate(data)}),
        json_string,
        lambda data: f"<<{', '.join(map(str, data))}>>",
        strace,
    ],
    "base64": [
        lambda data: base64.b64encode(data).decode(),
        lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
    ],
}
# Gutters that look like hex, like another gutter's start, like comments, like quotes.
hostile = st.lists(
    st.sampled_from(
        [*(bytes([byte]) for byte in b"0123456789abcdef |>*#/\\\"':=.,<\n"), b"61 62 ", b"  ", b"\0" * 16, b"a" * 32]
    )
).map(b"".join)
payloads = st.one_of(st.binary(min_size=1, max_size=90), hostile.filter(bool))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "index"), [(form, index) for form, writers in FORMS.items() for index in range(len(writers))]
)
@given(data=payloads)
@example(data=b"61 62 63 64 65 6")
@example(data=b"61 62 63")
@example(data=b"61 62 63" * 2)
@example(data=b"00000000: 0000 0000  |00000000|")
@example(data=bytes(80) + b"\1")
def test_auto_gives_the_bytes_back(form, index, data):
    write = FORMS[form][index]
    text = write(data)
    wanted = data + b"\0" if write in (json_string, strace) else data
    found = read_input(text.encode(), form)
    assert b"".join(chunk.data for chunk in found.chunks) == wanted
    if form == "base64" and (len(data) < 32 or text.isalnum()):
        return  # short base64 may be hex, or a word
    found = read_input(text.encode())
    assert b"".join(chunk.data for chunk in found.chunks) == wanted
