import pytest
from golden_rows import as_kafka_prints, sample, shared, without_unknown_tags

import kwire_cli as kwire
from kwire_cli.engine.tree import places
from kwire_cli.message.decoded import decode
from kwire_cli.structs.messages import declare


def check(row):
    decoded = decode(row.catalog, row.body, row.message, row.version)
    assert [a for a in decoded.anomalies if a.code != "LAYOUT_AMBIGUOUS"] == []
    value = decoded.value
    assert declare(decoded.spec, row.version).parse(row.body) == value
    shown = as_kafka_prints(value) if "ecords" in str(row.json) else without_unknown_tags(value)
    assert shown == row.json
    return decoded


@pytest.mark.parametrize("row", sample(), ids=str)
def test_a_golden_body_has_the_value_that_kafka_gives_it(row):
    decoded = check(row)
    assert b"".join(row.body[span.start : span.end] for span in decoded.spans) == row.body


@pytest.mark.shared
def test_all_golden_bodies_have_the_value_that_kafka_gives_them():
    for row in shared():
        check(row)


@pytest.mark.parametrize("row", [row for row in sample() if row.unknown_tags], ids=str)
def test_unknown_tags_stand_where_they_were(row):
    decoded = decode(row.catalog, row.body, row.message, row.version)
    found = [span for span in decoded.spans if span.kind == "unknown-tag"]
    expected = sorted((tag, data) for _, tag, data in row.unknown_tags)
    assert sorted((int(span.path.rpartition("[")[2][:-1]), row.body[span.value : span.end].hex()) for span in found) == expected


@pytest.mark.parametrize("row", [row for row in sample() if row.records], ids=str)
def test_records_can_be_shown_by_their_size(row):
    decoded = decode(row.catalog, row.body, row.message, row.version)
    sizes = [size for _, size in row.records]
    shown = []

    def collect(value):
        for key, part in value.items() if isinstance(value, dict) else ():
            if key.startswith(("records", "unalignedRecords")):
                assert key.endswith("SizeInBytes") == (part is not None)
                shown.append(part)
            collect(part)
        for part in value if isinstance(value, list) else ():
            collect(part)

    collect(decoded.to_json(records="size"))
    assert shown == sizes
    assert [span.end - span.value for span in decoded.spans if span.kind == "records"] == [size or 0 for size in sizes]


def test_spans_have_paths_as_people_write_them():
    row = next(row for row in sample() if row.message == "MetadataResponse" and row.json["topics"])
    decoded = decode(row.catalog, row.body, row.message, row.version)
    paths = [span.path for span in decoded.spans]
    assert {"brokers", "brokers[0].nodeId", "brokers[0].host", "topics[0].name"} <= set(paths)
    kinds = {span.path: span.kind for span in decoded.spans}
    assert (kinds["brokers"], kinds["brokers[0].nodeId"], kinds["brokers[0].host"]) == ("count", "int32", "string")


def test_paths_of_tag_sections():
    body = bytes.fromhex("0000 02 0012 0000 0004 01 09 01 ff 00000000 02 01 08 0000000000000007 63 02 0102")
    decoded = kwire.decode(body, message="ApiVersionsResponse", version=3)
    assert [(span.path, span.kind) for span in decoded.spans if "tag" in span.kind or span.kind == "int64"] == [
        ("apiKeys[0]._tags", "tag-count"),
        ("apiKeys[0]._tags[9]", "tag-header"),
        ("apiKeys[0]._tags[9]", "unknown-tag"),
        ("_tags", "tag-count"),
        ("finalizedFeaturesEpoch", "tag-header"),
        ("finalizedFeaturesEpoch", "int64"),
        ("_tags[99]", "tag-header"),
        ("_tags[99]", "unknown-tag"),
    ]


def test_every_item_has_a_path_of_its_own_kind():
    for row in sample():
        decoded = decode(row.catalog, row.body, row.message, row.version)
        seen = [(path, type(item.node).__name__, getattr(item.node, "kind", "")) for path, item in places(decoded.tree.root)]
        assert len(seen) == len(set(seen))
