"""Brief lines: short, one for each frame, without defaults, and the same for the same bytes."""

import json

import pytest
from command_line import ROOT, hold_page, kwire
from hypothesis import assume, given, strategies as st
from valid_values import values

import kwire_cli
from kwire_cli.spec.model import default_value
from kwire_cli.structs.messages import declare
from kwire_cli.view.brief import MOST, batch_text, line_text
from kwire_cli.view.lines import is_hidden

CATALOG = kwire_cli.catalog()
INPUTS = [
    ("decode", "samples/captures/midstream.pcap"),
    ("decode", "samples/captures/not-kafka.pcapng"),
    ("decode", "samples/incidents/rebalancing.pcap"),
    ("decode", "samples/incidents/sasl.pcap"),
    ("decode", "samples/frames/fetch-v18-response.hex"),
    ("dump", "--deep", "samples/segments/orders-zstd-0"),
    ("dump", "--deep", "samples/segments/__cluster_metadata-0"),
    ("dump", "samples/logs"),
]


@pytest.mark.parametrize("arguments", INPUTS, ids=" ".join)
def test_there_is_a_short_line_for_each_line_of_json(arguments):
    paths = [ROOT / word if "/" in word else word for word in arguments]
    lines = kwire(*paths, "-f", "brief").out.splitlines()
    documents = [json.loads(line) for line in kwire(*paths, "-f", "jsonl").out.splitlines()]
    if "logs" not in arguments[-1]:  # where the entries of an index are one line
        assert len(lines) == len(documents)
    assert max(map(len, lines)) <= MOST
    assert not any(map(is_hidden, "".join(lines)))
    for line, document in zip(lines, documents, strict=False):
        if "frame" in document:
            assert line.split()[0] == str(document["frame"])


def stripped(spec, fields, value):
    """A value without what has its default, at any depth."""
    known = {field.json_name: field for field in fields}
    out = {}
    for name, part in value.items():
        field = known.get(name)
        if field and part == default_value(field):
            continue
        if field and field.struct_name and part is not None:
            below = spec.struct_fields(field)
            parts = [stripped(spec, below, one) for one in (part if field.is_array else [part])]
            out[name] = parts if field.is_array else parts[0]
        else:
            out[name] = part
    return out


@given(st.data())
def test_any_message_is_a_line_in_which_no_field_has_its_default(data):
    entry = data.draw(st.sampled_from([entry for entry in CATALOG if entry.type in {"request", "response"}]))
    version = data.draw(st.sampled_from([*entry.valid_versions.each()] or [None]))
    assume(version is not None)
    spec = CATALOG.message(entry.name)
    body = data.draw(values(declare(spec, version)))
    text = line(body, message=entry.name, version=version)
    assert len(text) <= MOST
    assert not any(map(is_hidden, text))
    assert text.startswith(f"{entry.name} v{version} 9B ")
    assert line(stripped(spec, spec.fields, body), message=entry.name, version=version) == text


def line(body, **more):
    return line_text(CATALOG, {"message": "MetadataResponse", "version": 12, "size": 9, "body": body} | more)


def test_defaults_are_left_out_and_numbers_that_mean_something_have_a_name():
    body = {"throttleTimeMs": 0, "brokers": [], "clusterId": None, "controllerId": -1, "topics": [
        {"errorCode": 3, "name": "a b", "partitions": []},
        {"errorCode": 0, "name": "c", "partitions": []},
    ]}  # fmt: skip
    assert line(body) == (
        "MetadataResponse v12 9B errors=[UNKNOWN_TOPIC_OR_PARTITION]"
        ' {topics=[{errorCode=UNKNOWN_TOPIC_OR_PARTITION name="a b"},{name=c}]}'
    )


@pytest.mark.parametrize(("count", "shown"), [(8, "]"), (9, ",+1]"), (1000, ",+992]")])
def test_lists_are_cut_and_say_how_much(count, shown):
    text = line({"topics": [{"name": f"t{number}"} for number in range(count)]})
    assert text.endswith(f"{{name=t7}}{shown}}}")


def test_what_is_too_long_without_lists_ends_in_dots():
    names = {f"unknown{number}": "x" * 100 for number in range(9)}
    text = line(names)
    assert len(text) == MOST
    assert text.endswith("…")
    assert f"unknown0={'x' * 64}+36 " in text


def test_topics_are_named_where_the_body_has_only_their_ids():
    body = {"topics": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}]}
    assert line(body, topics=["orders"]).endswith(" topics=[orders] {topics=[{topicId=AAAAAAAAAAAAAAAAAAAAAQ}]}")
    assert "topics=[orders]" not in line({"topics": [{"name": "orders"}]}, topics=["orders"])


def test_records_are_text_where_they_are_text():
    record = {"offset": 1, "keySize": 1, "valueSize": 2, "key": "YQ==", "value": "AP8=",
              "headers": [{"key": "YQ==", "value": "YQ=="}]}  # fmt: skip
    batch = {"position": 0, "baseOffset": 1, "lastOffset": 1, "crcValid": False, "records": [record]}
    assert batch_text(batch) == (
        "position=0 offsets=1-1 crcValid=false records=[{offset=1 key=a value=<2 bytes> headers=[{key=YQ== value=a}]}]"
    ).replace("key=YQ==", 'key="YQ=="')


def test_the_page_shows_what_the_commands_print(updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(ROOT / "docs" / "brief.md", updating)
