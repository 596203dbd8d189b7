import math
import struct

import pytest
from kit.messages import definition, field

from kwire_cli import EncodeError
from kwire_cli.message.decoded import decode_spec
from kwire_cli.message.encode import encode_spec
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import RANGES, Varint, unsigned_varint

HUGE = 10**5000
"""More digits than Python prints."""


def round_trip(spec, value, data, version=0):
    assert encode_spec(spec, {"f": value}, version).hex() == data
    decoded = decode_spec(spec, bytes.fromhex(data), version)
    assert decoded.value == {"f": value}
    assert not decoded.anomalies
    assert declare(spec, version).parse(bytes.fromhex(data)) == {"f": value}


@pytest.mark.parametrize("kind", RANGES)
def test_an_integer_takes_its_whole_range_and_no_more(kind):
    spec = definition(field(kind))
    low, high = RANGES[kind]
    size = int(kind.removeprefix("u")[3:]) // 8
    for number in (low, low + 1, 0, 1, high - 1, high):
        round_trip(spec, number, (number % (1 << 8 * size)).to_bytes(size, "big").hex())
    for number in (low - 1, high + 1, 1 << 70, HUGE):
        with pytest.raises(EncodeError, match=f"does not fit {kind}") as caught:
            encode_spec(spec, {"f": number}, 0)
        assert (caught.value.path, caught.value.value) == ("f", number)


@pytest.mark.parametrize("value", [None, True, 1.0, "1", [], {}])
def test_an_integer_is_nothing_else(value):
    with pytest.raises(EncodeError, match="takes an integer"):
        encode_spec(definition(field("int32")), {"f": value}, 0)


@pytest.mark.parametrize("value", [0, 1, "true", None])
def test_a_bool_is_nothing_else(value):
    with pytest.raises(EncodeError, match="bool takes true or false"):
        encode_spec(definition(field("bool")), {"f": value}, 0)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0.0, "0000000000000000"),
        (1.5, "3ff8000000000000"),
        (-2.0, "c000000000000000"),
        (5e-324, "0000000000000001"),
        (1.7976931348623157e308, "7fefffffffffffff"),
        ("NaN", "7ff8000000000000"),
        ("Infinity", "7ff0000000000000"),
        ("-Infinity", "fff0000000000000"),
    ],
)
def test_a_float64_shows_what_json_has_no_number_for_as_text(value, data):
    round_trip(definition(field("float64")), value, data)


def test_a_float64_takes_python_numbers_too():
    spec = definition(field("float64"))
    assert encode_spec(spec, {"f": math.inf}, 0) == struct.pack(">d", math.inf)
    assert encode_spec(spec, {"f": math.nan}, 0) == struct.pack(">d", math.nan)
    assert encode_spec(spec, {"f": 3}, 0) == struct.pack(">d", 3.0)


def test_minus_zero_keeps_its_sign():
    decoded = decode_spec(definition(field("float64")), struct.pack(">d", -0.0), 0)
    assert math.copysign(1, decoded.value["f"]) == -1


@pytest.mark.parametrize("value", [10**400, pytest.param(HUGE, id="huge"), True, "nan", "1.5", None])
def test_a_float64_is_nothing_else(value):
    with pytest.raises(EncodeError, match="float64"):
        encode_spec(definition(field("float64")), {"f": value}, 0)


def test_a_uuid_is_url_safe_base64():
    spec = definition(field("uuid"))
    round_trip(spec, "AAAAAAAAAAAAAAAAAAAAAA", "00" * 16)
    round_trip(spec, "_____________________w", "ff" * 16)
    assert encode_spec(spec, {"f": "_____________________w=="}, 0) == b"\xff" * 16


@pytest.mark.parametrize("value", ["", "AAAA", "A" * 24, "!" * 22, "é" * 22, None, 1, []])
def test_a_uuid_is_nothing_else(value):
    with pytest.raises(EncodeError, match="uuid takes 22 characters"):
        encode_spec(definition(field("uuid")), {"f": value}, 0)


def test_the_varint_of_kip_482():
    assert unsigned_varint(300) == b"\xac\x02"


def zigzag(number, bits):
    return unsigned_varint((number << 1 ^ number >> (bits - 1)) & (1 << bits) - 1)


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("name", ["packed", "upacked"])
def test_a_packed_integer_at_its_boundaries(name, bits):
    kind = f"int{bits}"
    spec = definition(field(kind, encoding=f"{name}{bits}"))
    low, high = RANGES[kind]
    numbers = {s * (1 << n) + d for n in range(bits) for s in (1, -1) for d in (-1, 0, 1)}
    for number in sorted(n for n in numbers if low <= n <= high):
        raw = zigzag(number, bits) if name == "packed" else unsigned_varint(number % (1 << bits))
        round_trip(spec, number, raw.hex())


@pytest.mark.parametrize(
    ("encoding", "number", "data"),
    [
        ("upacked16", -1, "ffff03"),
        ("upacked32", -1, "ffffffff0f"),
        ("upacked64", -1, "ffffffffffffffffff01"),
        ("packed16", -1, "01"),
        ("packed32", -64, "7f"),
        ("packed32", 64, "8001"),
        ("packed64", -(1 << 63), "ffffffffffffffffff01"),
        ("upacked32", 300, "ac02"),
        ("fixed16", -1, "ffff"),
        ("fixed32", -1, "ffffffff"),
        ("fixed64", -1, "ff" * 8),
    ],
)
def test_the_encodings_of_kafka_9927(encoding, number, data):
    for kind in ("int16", "int32", "int64"):
        low, high = RANGES[kind]
        if low <= number <= high:
            round_trip(definition(field(kind, encoding=encoding)), number, data)


@pytest.mark.parametrize(("encoding", "bits"), [("fixed32", 32), ("packed32", 32), ("upacked16", 16), ("fixed16", 16)])
def test_a_narrower_encoding_is_range_checked_on_writing(encoding, bits):
    spec = definition(field("int64", encoding=encoding))
    for number in (-(1 << bits - 1), (1 << bits - 1) - 1):
        assert decode_spec(spec, encode_spec(spec, {"f": number}, 0), 0).value == {"f": number}
    for number in (-(1 << bits - 1) - 1, 1 << bits - 1):
        with pytest.raises(EncodeError, match="int64 written as"):
            encode_spec(spec, {"f": number}, 0)


def test_an_encoding_can_differ_by_version():
    spec = definition(field("int32", encoding={"0": "fixed32", "1+": "packed32"}))
    round_trip(spec, -1, "ffffffff")
    round_trip(spec, -1, "0100", version=1)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_a_varint_ends_where_its_width_does(bits):
    spec = definition(field(f"int{bits}", encoding=f"packed{bits}"))
    decoded = decode_spec(spec, b"\xff" * 12, 0)
    assert [anomaly.code for anomaly in decoded.anomalies] == ["VARINT_TOO_LONG"]
    assert decoded.value == {}
    with pytest.raises(Exception, match="varint longer than"):
        Varint("int64", bits, zigzag=True).parse(b"\xff" * 12)
