"""Headers in other forms: their bytes against those written down by hand, and what each form loses."""

import json
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, strategies as st

import kwire_cli as kwire
from kwire_cli.analysis.costs.header_forms import HEADER_FORMS, HeaderKeys, HeaderPrice, _fields
from kwire_cli.analysis.costs.records_answer import RecordForms
from kwire_cli.records.batch import Record
from kwire_cli.records.codecs import crc32
from kwire_cli.records.reading import items, source_of
from kwire_cli.records.registers import Register
from kwire_cli.structs.records.kip82 import AVRO_MAP, MAP_MESSAGE, REDUCED, WRAPPER

TWO = (("client.id", b"abc"), ("trace", b"12345678"))
REPEATED = (("a", b"1"), ("b", None), ("a", b"\xff"))


def record(headers=(), key=b"k", value=b"value"):
    return Record(10, 1000, -1, key, value, tuple(headers))


def built(form, headers=(), keys=None, **parts):
    made = record(headers, **parts)
    return HEADER_FORMS[form].build(_fields(made, made), made.headers, keys or HeaderKeys(Register()))


def prices(*records, forms=tuple(HEADER_FORMS)):
    register = Register()
    found = {form: HeaderPrice(form, HeaderKeys(register)) for form in forms}
    for price in found.values():
        price.add(records[0], records)
    return found


def test_what_headers_cost_counted_by_hand():
    found = {form: price.cost for form, price in prices(record(TWO)).items()}
    names, values = len("client.id") + len("trace"), 11
    assert found["v2"] == names + values + 4  # a byte for each length; the count of headers is there in any case
    assert found["kip82-draft"] == 4 + 2 * 8 + values
    assert found["map-pairs"] == 4 + len("client.id=abc&trace=12345678")
    assert found["map-json"] == 4 + len('{"client.id":"abc","trace":"12345678"}')
    assert found["map-avro"] == 4 + 1 + names + values + 4 + 1  # the count of pairs, four lengths, the end
    assert found["wrapper"] == 4 + 2 * (2 + 4) + names + values + 4  # and the payload's own length
    assert {found[form] for form in REDUCED} == {found["kip82-draft"]}


def test_what_reductions_save_counted_by_hand():
    with_key = {form: price.bare for form, price in prices(record()).items()}
    null_key = {form: price.bare for form, price in prices(record(key=None)).items()}
    assert with_key["kip82-draft"] == 34 + len(b"kvalue")
    saved = {
        form: (with_key["kip82-draft"] - with_key[form], null_key["kip82-draft"] - null_key[form]) for form in REDUCED
    }
    assert saved == {
        "no-key-length": (0, 4),
        "varint-key-length": (3, 3),
        "varint-value-length": (3, 3),
        "all-three": (6, 7),
    }


@pytest.mark.parametrize(("size", "saved"), [(63, 3), (64, 2), (8191, 2), (8192, 1), (1 << 20, 0)])
def test_a_varint_saves_less_the_longer_the_key_is(size, saved):
    found = prices(record(key=bytes(size)), forms=("kip82-draft", "varint-key-length"))
    assert found["kip82-draft"].bare - found["varint-key-length"].bare == saved


@pytest.mark.parametrize("headers", [(), TWO])
def test_the_drafts_message_is_the_one_that_its_reader_reads(headers):
    data = built("kip82-draft", headers, HeaderKeys(Register({"trace": 5})))
    [batch] = items(source_of(data, form="kip82-draft"))
    assert batch.crc_valid
    assert [batch.anomalies, next(batch.records()).headers] == [[], ((1, b"abc"), (5, b"12345678")) if headers else ()]


@pytest.mark.parametrize("form", REDUCED)
def test_reduced_messages_parse_and_their_checksum_is_right(form):
    data = built(form, TWO, key=None)
    value = REDUCED[form].parse(data)
    assert value["crc"] == crc32(data[16:])
    assert value.get("key") is None
    assert len(value["headers"]) == 2
    assert bool(value["attributes"] & 0x20) == (form in {"no-key-length", "all-three"})


def test_maps_are_what_such_software_reads():
    found = {form: MAP_MESSAGE.parse(built(form, TWO))["headers"] for form in ("map-pairs", "map-json", "map-avro")}
    import base64

    texts = {form: base64.b64decode(data) for form, data in found.items()}
    assert parse_qsl(texts["map-pairs"].decode()) == [("client.id", "abc"), ("trace", "12345678")]
    assert json.loads(texts["map-json"]) == {"client.id": "abc", "trace": "12345678"}
    assert texts["map-avro"] == b"\x04\x12client.id\x06abc\x0atrace\x1012345678\x00"
    assert AVRO_MAP.parse(texts["map-avro"])["pairs"][1] == {"key": "trace", "value": "12345678"}


def test_a_wrapper_keeps_null_headers_and_loses_tombstones():
    keys = HeaderKeys(Register())
    [batch] = items(source_of(built("wrapper", REPEATED, keys, value=None)))
    [read] = batch.records()
    assert WRAPPER.parse(read.value) == {
        "headers": [{"key": "a", "value": "MQ=="}, {"key": "b", "value": None}, {"key": "a", "value": "/w=="}],
        "payload": None,
    }


def test_a_name_too_long_for_a_wrapper_is_left_out():
    price = prices(record([("n" * 40_000, b"1"), ("short", b"2")]), forms=("wrapper", "v2"))
    assert price["wrapper"].cost < 40_000
    assert price["v2"].cost > 40_000


@pytest.mark.parametrize(
    ("form", "lost"),
    [
        ("v2", {}),
        ("kip82-draft", {"again": 1, "null": 1}),
        ("all-three", {"again": 1, "null": 1}),
    ],
)
def test_what_a_form_cannot_carry(form, lost):
    found = {what: count for what, count in prices(record(REPEATED), forms=(form,))[form].keys.lost.items() if count}
    assert len(found) == len(lost)
    for word, count in lost.items():
        assert [number for what, number in found.items() if word in what] == [count]


def test_headers_of_a_draft_have_names_elsewhere():
    assert built("v2", [(1, b"x")]) == built("v2", [("client.id", b"x")])
    assert built("v2", [(77, b"x")]) == built("v2", [("77", b"x")])


@pytest.mark.parametrize(("names", "counts"), [((), (1, 2)), (("wrapper",), (2, 2))])
def test_records_without_headers_count_only_if_a_form_of_headers_is_chosen(names, counts):
    rows = [{"value": {"text": "v"}, "headers": [{"key": key, "value": None} for key in keys]} for keys in ("ab", "")]
    [batch] = items(source_of(kwire.write_records([{"records": rows}])))
    found = RecordForms(kwire.catalog(), names)
    found.add_batch("p", batch)
    assert (found.headers[0].records, found.headers[0].headers) == counts


def test_a_wrapper_is_priced_against_the_plain_value():
    found = prices(record(TWO), record(), forms=("v2", "wrapper"))
    assert found["wrapper"].size - found["wrapper"].bare == prices(record(TWO), forms=("wrapper",))["wrapper"].cost + 8


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=30)), max_size=6), st.none() | st.binary(max_size=200))
def test_any_headers_have_a_price_in_every_form(headers, value):
    for price in prices(record(headers, value=value)).values():
        assert price.size == price.bare + price.cost
        assert price.cost >= sum(len(data or b"") for name, data in dict(headers).items())
