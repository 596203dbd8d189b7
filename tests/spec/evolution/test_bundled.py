"""Every bundled definition is compatible with itself."""

from kwire_cli.spec.evolution.breaking import breaking
from kwire_cli.spec.evolution.sources import read_definitions
from kwire_cli.spec.files import specs_folder

DEFINITIONS = read_definitions([specs_folder()])


def test_all_definitions_together_are_compatible_with_themselves():
    assert len(DEFINITIONS) > 280
    assert breaking(DEFINITIONS, DEFINITIONS) == []


def test_layouts_that_kafka_4_0_had_are_found():
    old = read_definitions([f"{specs_folder()}/kafka-4.0"])
    found = {
        (each.definition, each.path): each.severity for each in breaking(old, DEFINITIONS) if each.rule == "FIELD_ADDED"
    }
    assert found == {
        (
            "ReadShareGroupStateSummaryResponse",
            "results[].partitions[].leaderEpoch",
        ): "wire",  # without its request nothing says that it was unstable
        ("ShareGroupMetadataValue", "metadataHash"): "wire",
        ("ShareGroupPartitionMetadataValue", "deletingTopics"): "wire",
        ("ShareGroupPartitionMetadataValue", "initializedTopics[].partitions"): "wire",
        ("ShareGroupStatePartitionMetadataValue", "initializingTopics"): "wire",
        ("ShareSnapshotValue", "createTimestamp"): "wire",
        ("ShareSnapshotValue", "writeTimestamp"): "wire",
    }
