import pytest

import kwire_cli as kwire
from kwire_cli.analysis.costs.generated import counts_for, generate
from kwire_cli.errors import InputError
from kwire_cli.message.encode import encode_spec

SPEC = kwire.catalog().message("MetadataResponse")


def test_every_version_of_every_message_can_be_generated_and_written():
    for entry in kwire.catalog():
        spec = kwire.catalog().message(entry.name)
        for version in spec.valid_versions.each():
            value = generate(spec, version, counts_for(spec, version, {}, {}))
            assert encode_spec(spec, value, version) == encode_spec(
                spec, generate(spec, version, counts_for(spec, version, {}, {})), version
            )


def test_the_arrays_have_the_number_of_elements_that_was_said():
    counts = counts_for(
        SPEC,
        12,
        {"brokers": 2, "topics": 3, "partitions": 5, "replicas": 2},
        {"topics[].partitions[].offlineReplicas": 1},
    )
    value = generate(SPEC, 12, counts)
    assert [broker["nodeId"] for broker in value["brokers"]] == [1, 2]
    assert [topic["name"] for topic in value["topics"]] == ["topic-0", "topic-1", "topic-2"]
    assert len({topic["topicId"] for topic in value["topics"]}) == 3
    partitions = value["topics"][2]["partitions"]
    assert [partition["partitionIndex"] for partition in partitions] == [0, 1, 2, 3, 4]
    assert [partition["replicaNodes"] for partition in partitions[:2]] == [[1, 2], [2, 1]]
    assert all(partition["leaderId"] == partition["replicaNodes"][0] for partition in partitions)
    assert len(partitions[0]["offlineReplicas"]) == 1


def test_text_and_bytes_have_the_length_that_was_said():
    value = generate(SPEC, 12, counts_for(SPEC, 12, {}, {"clusterId": 127}))
    assert value["clusterId"] == "x" * 127
    produce = kwire.catalog().message("ProduceRequest")
    path = "topicData[].partitionData[].records"
    value = generate(produce, 9, counts_for(produce, 9, {}, {path: 100}))
    assert len(value["topicData"][0]["partitionData"][0]["records"]) == 136


def test_tagged_fields_are_there_when_they_are_spoken_of():
    spec = kwire.catalog().message("FetchResponse")
    assert "nodeEndpoints" not in generate(spec, 16, counts_for(spec, 16, {}, {}))
    assert len(generate(spec, 16, counts_for(spec, 16, {}, {"nodeEndpoints": 2}))["nodeEndpoints"]) == 2


def test_what_a_message_does_not_have_is_refused():
    with pytest.raises(InputError, match="did you mean topics"):
        counts_for(SPEC, 12, {}, {"topics[].partition": 1})
    spec = kwire.catalog().message("SaslHandshakeRequest")
    with pytest.raises(
        InputError, match=r"SaslHandshakeRequest 1 has no array of partitions; --make PATH=N takes none"
    ):
        counts_for(spec, 1, {"partitions": 3}, {})
    for roles, paths in (
        ({"topics": 10**6, "partitions": 10**6}, {}),
        ({"partitions": 2 << 20}, {}),
        ({"topics": 1 << 19}, {"topics[].name": 1000}),
    ):
        with pytest.raises(InputError, match="are too many"):
            counts_for(SPEC, 12, roles, paths)
