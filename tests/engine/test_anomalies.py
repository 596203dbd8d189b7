import re

import pytest
from kit.commands import ROOT
from kit.messages import definition, field

from kwire_cli.engine.codes import (
    COMPRESSION,
    KERNEL_BITS,
    LOG_FILES,
    MEANING,
    PAYLOADS,
    RECORDS,
    REMARKS,
    SHIFTS,
)
from kwire_cli.facts.costs.ledger import ledger
from kwire_cli.message.decoded import decode_spec
from kwire_cli.structs.messages import declare

PAGE = ROOT / "docs" / "model.md"

STRING = definition(field("string"))
NULLABLE = definition(field("string", nullableVersions="0+"))
NUMBERS = definition(field("[]int32"))
NAMES = definition(field("[]string"))
NULLABLE_NUMBERS = definition(field("[]int32", nullableVersions="0+"))
STRUCT = definition(field("S", nullableVersions="0+", fields=[{"name": "A", "type": "int8"}]))
TAGGED = definition(field("int8", tag=0, taggedVersions="1+", versions="1+"))
TWO_TAGS = definition(
    {"name": "F", "type": "int8", "tag": 0, "taggedVersions": "1+", "versions": "1+"},
    {"name": "G", "type": "string", "tag": 1, "taggedVersions": "1+", "versions": "1+"},
)
LATER_TAG = definition(
    field("int8", tag=0, taggedVersions="2+", versions="2+"),
    {"name": "H", "type": "int8"},
    validVersions="0-2",
    flexibleVersions="1+",
)
PACKED = definition(field("int32", encoding="packed32"))
WIDE = definition(field("int16", encoding="fixed32"))
WIDER = definition(field("int32", encoding="fixed64"))
OPTIONAL = definition(
    field("S", tag=0, taggedVersions="1+", versions="1+", nullableVersions="0+", fields=[{"name": "A", "type": "int8"}])
)
BOOL = definition(field("bool"))
EMPTY = definition(field("[]S", fields=[]))


def encoded(encoding):
    """A definition with an integer in this encoding."""
    return definition(field(f"int{encoding[-2:]}", encoding=encoding))


BODIES = [
    # spec, version, bytes, value, then (code, path, offset) of each anomaly
    (STRING, 1, "8200 61 00", {"f": "a"}, [("OVERLONG_VARINT", "f", 0)]),
    (STRING, 1, "02 61 80 00", {"f": "a"}, [("OVERLONG_VARINT", "_tags", 2)]),
    (PACKED, 0, "8200", {"f": 1}, [("OVERLONG_VARINT", "f", 0)]),
    (encoded("upacked32"), 0, "8180808000", {"f": 1}, [("OVERLONG_VARINT", "f", 0)]),
    (encoded("packed64"), 0, "80808080808080808000", {"f": 0}, [("OVERLONG_VARINT", "f", 0)]),
    (STRING, 1, "8280808010 61 00", {"f": "a"}, [("VARINT_EXCESS_BITS", "f", 0)]),
    (PACKED, 0, "ffffffff7f", {"f": -(1 << 31)}, [("VARINT_EXCESS_BITS", "f", 0)]),
    (encoded("upacked32"), 0, "ffffffff7f", {"f": -1}, [("VARINT_EXCESS_BITS", "f", 0)]),
    (encoded("upacked16"), 0, "ffff07", {"f": -1}, [("VARINT_EXCESS_BITS", "f", 0)]),
    (encoded("packed16"), 0, "818004", {"f": -1}, [("VARINT_EXCESS_BITS", "f", 0)]),
    (encoded("upacked64"), 0, "ffffffffffffffffff03", {"f": -1}, [("VARINT_EXCESS_BITS", "f", 0)]),
    (NULLABLE, 0, "fffe", {"f": None}, [("NEGATIVE_LENGTH", "f", 0)]),
    (NULLABLE, 0, "8000", {"f": None}, [("NEGATIVE_LENGTH", "f", 0)]),
    (NULLABLE, 1, "8080808008 00", {"f": None}, [("NEGATIVE_LENGTH", "f", 0)]),
    (NULLABLE_NUMBERS, 0, "80000000", {"f": None}, [("NEGATIVE_LENGTH", "f", 0)]),
    (NULLABLE_NUMBERS, 1, "ffffffff0f 00", {"f": None}, [("NEGATIVE_LENGTH", "f", 0)]),
    (TAGGED, 1, "ffffffff0f", {}, [("NEGATIVE_LENGTH", "_tags", 0)]),
    (STRING, 0, "ffff", {"f": None}, [("NULL_NOT_ALLOWED", "f", 0)]),
    (NUMBERS, 1, "00 00", {"f": None}, [("NULL_NOT_ALLOWED", "f", 0)]),
    (NAMES, 0, "fffffffe", {"f": None}, [("NEGATIVE_LENGTH", "f", 0), ("NULL_NOT_ALLOWED", "f", 0)]),
    (STRUCT, 0, "02 07", {"f": {"a": 7}}, [("PRESENCE_NOT_0_OR_1", "f", 0)]),
    (STRUCT, 0, "00 07", {"f": {"a": 7}}, [("PRESENCE_NOT_0_OR_1", "f", 0)]),
    (STRUCT, 0, "7f 07", {"f": {"a": 7}}, [("PRESENCE_NOT_0_OR_1", "f", 0)]),
    (STRUCT, 0, "80", {"f": None}, [("PRESENCE_NOT_0_OR_1", "f", 0)]),
    (STRUCT, 0, "fe", {"f": None}, [("PRESENCE_NOT_0_OR_1", "f", 0)]),
    (OPTIONAL, 1, "01 00 05 ffffffff0f", {"f": None}, [("PRESENCE_NOT_0_OR_1", "f", 3)]),
    (OPTIONAL, 1, "01 00 03 02 07 00", {"f": {"a": 7}}, [("PRESENCE_NOT_0_OR_1", "f", 3)]),
    (TWO_TAGS, 1, "02 01 02 0261 00 01 07", {"f": 7, "g": "a"}, [("TAG_ORDER", "f", 5)]),
    (
        TAGGED,
        1,
        "01 ffffffff0f 00",
        {"unknownTaggedFields": [{"tag": -1, "data": ""}]},
        [("TAG_ORDER", "_tags[-1]", 1)],
    ),
    (TAGGED, 1, "02 00 01 07 00 01 08", {"f": 8}, [("TAG_DUPLICATE", "f", 4)]),
    (TAGGED, 1, "03 00 01 07 05 00 00 01 08", None, [("TAG_DUPLICATE", "f", 6), ("TAG_ORDER", "f", 6)]),
    (TAGGED, 1, "02 05 01 07 05 00", None, [("TAG_DUPLICATE", "_tags[5]", 4)]),
    (TAGGED, 1, "01 00 02 07", {"f": 7}, [("TAG_SIZE_MISMATCH", "f", 1)]),
    (TAGGED, 1, "01 00 ffffffff0f 07", {"f": 7}, [("TAG_SIZE_MISMATCH", "f", 1)]),
    (TAGGED, 1, "01 00 01 00", {}, [("TAG_DEFAULT_VALUE", "f", 1)]),
    (
        LATER_TAG,
        1,
        "09 01 00 01 07",
        {"h": 9, "unknownTaggedFields": [{"tag": 0, "data": "Bw=="}]},
        [("TAG_NOT_VALID", "_tags[0]", 2)],
    ),
    *((BOOL, 0, byte, {"f": True}, [("BOOL_NOT_0_OR_1", "f", 0)]) for byte in ("02", "7f", "80", "ff")),
    (definition(field("[]bool")), 0, "00000002 01 ff", {"f": [True, True]}, [("BOOL_NOT_0_OR_1", "f[1]", 5)]),
    (STRING, 1, "818002" + "61" * 32768 + "00", {"f": "a" * 32768}, [("STRING_TOO_LONG", "f", 0)]),
    (STRING, 0, "0003 61ff62", {"f": "a\ufffdb"}, [("INVALID_UTF8", "f", 2)]),
    (WIDE, 0, "00008000", {"f": 32768}, [("VALUE_OUT_OF_RANGE", "f", 0)]),
    (WIDER, 0, "ffffffff7fffffff", {"f": -(1 << 31) - 1}, [("VALUE_OUT_OF_RANGE", "f", 0)]),
    (STRING, 0, "0005 6161", {}, [("TRUNCATED", "f", 0)]),
    (STRING, 0, "00", {}, [("TRUNCATED", "f", 0)]),
    (NUMBERS, 0, "00000002 00000001 0000", {"f": [1]}, [("TRUNCATED", "f[1]", 8)]),
    (STRING, 1, "ffffffffff 61", {}, [("VARINT_TOO_LONG", "f", 0)]),
    (PACKED, 0, "ffffffffff 00", {}, [("VARINT_TOO_LONG", "f", 0)]),
    (TAGGED, 1, "01 05 ffffffff0f", {}, [("INVALID_LENGTH", "_tags", 1)]),
    (TAGGED, 1, "01 05 09 00", {}, [("TRUNCATED", "_tags", 1)]),
    (EMPTY, 0, "7fffffff", {}, [("COUNT_MISMATCH", "f", 0), ("INVALID_LENGTH", "f", 0)]),
    (NUMBERS, 0, "00000009 00000001", {"f": [1]}, [("COUNT_MISMATCH", "f", 0), ("TRUNCATED", "f[1]", 8)]),
    (NAMES, 1, "09 0261", {"f": ["a"]}, [("COUNT_MISMATCH", "f", 0), ("TRUNCATED", "f[1]", 3)]),
    (STRING, 0, "0001 61 6262", {"f": "a"}, [("TRAILING_BYTES", "", 3)]),
]


@pytest.mark.parametrize(
    ("spec", "version", "data", "value", "found"), BODIES, ids=[f"{row[4][-1][0]}-{i}" for i, row in enumerate(BODIES)]
)
def test_an_anomaly_has_a_code_a_path_and_an_offset(spec, version, data, value, found):
    data = bytes.fromhex(data)
    decoded = decode_spec(spec, data, version)
    assert [(a.code, a.path, a.offset) for a in decoded.anomalies] == found
    assert all(a.detail for a in decoded.anomalies)
    if value is not None:
        assert decoded.value == value
    if decoded.complete and not {"INVALID_UTF8", "TRAILING_BYTES"} & {code for code, *_ in found}:
        assert declare(spec, version).parse(data) == decoded.value
    assert sum(row.prefix_bytes + row.value_bytes for row in ledger(decoded)) == len(data)
    assert b"".join(data[span.start : span.end] for span in decoded.spans) == data


FRAMES = {
    "EXTRA_HEADER_BYTES",
    "FITS_OTHERWISE",
    "FRAME_SIZE_MISMATCH",
    "UNKNOWN_API",
    "UNKNOWN_VERSION",
    "VERSION_FALLBACK",
}
"""Codes of frames, which tests/message/test_frames.py and test_fits.py provoke."""


def test_every_code_is_provoked_here():
    # Those of compressed records are in tests/records/test_codes.py, those of payloads in tests/records, of log files
    # in tests/source/logs, of batches in tests/records, of records in tests/structs/records/test_v2.py, of early
    # layouts in tests/engine/test_values.py.
    provoked = {code for *_, found in BODIES for code, _, _ in found} | {"RECORD_SIZE_MISMATCH"} | FRAMES | REMARKS
    assert provoked == set(MEANING) - set(COMPRESSION) - set(PAYLOADS) - set(LOG_FILES) - set(RECORDS)
    assert set(KERNEL_BITS.values()) <= set(MEANING)
    assert set(MEANING) >= SHIFTS


def test_the_table_in_the_documentation_is_this_one(updating):
    rows = "".join(
        f"| `{code}` | {'yes' if code in SHIFTS else ''} | {meaning[0].upper()}{meaning[1:]}. |\n"
        for code, meaning in MEANING.items()
    )
    table = re.compile(r"(?<=^\| Code \| Shifts \| Meaning \|\n\| --- \| --- \| --- \|\n)(?:\|.*\n)*", re.MULTILINE)
    page = PAGE.read_text("utf-8")
    if updating:
        PAGE.write_text(table.sub(lambda _: rows, page), "utf-8")
    else:
        assert table.findall(page) == [rows]
