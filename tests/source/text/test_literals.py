r"""Literals of many languages and tools, each of which holds the same request."""

import json

import pytest

from kwire_cli.errors import InputError
from kwire_cli.source.text.reading import read_input

REQUEST = bytes.fromhex("00000023001200030000000700096b61666b612d636c69000a6b61666b612d636c6904302e3100")
ESCAPED = "".join(chr(byte) if 32 < byte < 127 else f"\\x{byte:02x}" for byte in REQUEST)
OCTAL = "".join(chr(byte) if 32 < byte < 127 else f"\\{byte:03o}" for byte in REQUEST)
LITERALS = {
    "strace, short": r'write(7, "\0\0\0#\0\22\0\3\0\0\0\7\0\tkafka-cli\0\nkafka-cli\0040.1\0", 39) = 39',
    "Ruby": r'"\u0000\u0000\u0000#\u0000\u0012\u0000\u0003\u0000\u0000\u0000\u0007\u0000\u0009kafka-cli'
    r'\u0000\u000Akafka-cli\u00040.1\u0000"',
    "JSON string, escaped twice": json.dumps({"raw": ESCAPED}),
    "Uint8Array in a console": str({str(index): byte for index, byte in enumerate(REQUEST)}),
    "PHP var_dump of bin2hex": f'string(78) "{REQUEST.hex()}"',
    "Java, joined": f'String frame = "{ESCAPED[:-14]}" +\n  "{ESCAPED[-14:]}";',
    "Go %v": f"[{' '.join(map(str, REQUEST))}]",
    "Go %#v": f"[]byte{{{', '.join(f'{byte:#x}' for byte in REQUEST)}}}",
    "Rust escape_ascii": f'b"{ESCAPED}"',
    "Kotlin": f"val frame = byteArrayOf({', '.join(map(str, REQUEST))})",
    "Clojure": f"(byte-array [{' '.join(map(str, REQUEST))}])",
    "Erlang tuple": f"{{ok,<<{','.join(map(str, REQUEST))}>>}}",
    "decimals, signed": " ".join(str(byte - 256 if byte > 127 else byte) for byte in REQUEST),
    "escapes without quotes": ESCAPED,
    "repr without quotes": repr(REQUEST)[2:-1],
    "escapes below a comment": f"# sent\n{ESCAPED}\n",
}


@pytest.mark.parametrize("text", LITERALS.values(), ids=LITERALS)
def test_all_literals_hold_the_same_request(text):
    found = read_input(text.encode())
    assert (found.form, [chunk.data for chunk in found.chunks]) == ("literal", [REQUEST])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<<1, name::binary>>", "no bytes were recognised"),
        ("[0, 256]", "a number from -128 to 255"),
        ("[00, 10, 20]", "a number from -128 to 255"),
        ('{"0":0,"2":1}', "keys that count from 0"),
        ('["\\u0100"]', "exceeds a byte"),
        ('"\\NUL"', "the escape \\N is not a byte"),
        ("0, 3, 300", "a number from -128 to 255"),
        ("10 20 3", "1 digit (odd)"),
        ("00 00\n00 2", "1 digit (odd)"),
    ],
)
def test_a_literal_is_read_whole_or_refused(text, says):
    with pytest.raises(InputError) as caught:
        read_input(text.encode())
    assert says in str(caught.value)


def test_decimals_that_may_be_hex_are_read_if_literals_are_asked_for():
    assert [chunk.data for chunk in read_input(b"10, 20, 30", "literal").chunks] == [bytes((10, 20, 30))]
    assert [chunk.data for chunk in read_input(b"10, 20, 30").chunks] == [b"\x10\x20\x30"]


def test_a_string_that_strace_cut_is_noted():
    found = read_input(b'read(7, "\\0\\0\\0#\\0"..., 39) = 39')
    assert found.chunks[0].data == b"\0\0\0#\0"
    assert found.notes == ("line 1: the string was cut when it was printed; strace -s 65535 cuts less",)
