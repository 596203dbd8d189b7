"""Every bundled definition is compatible with itself."""

import pytest

from kwire_cli.spec.evolution.breaking import breaking
from kwire_cli.spec.evolution.sources import read_definitions
from kwire_cli.spec.files import specs_folder

DEFINITIONS = read_definitions([specs_folder()])


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_is_compatible_with_itself(name):
    one = {name: DEFINITIONS[name]}
    assert breaking(one, one) == []
    assert breaking(one, one, part=True) == []


def test_all_of_them_together_are():
    assert len(DEFINITIONS) > 280
    assert breaking(DEFINITIONS, DEFINITIONS) == []


def test_what_kafka_3_9_wrote_otherwise_is_found():
    old = read_definitions([f"{specs_folder()}/kafka-3.9"])
    found = {
        (each.message, each.path): each.severity for each in breaking(old, DEFINITIONS) if each.rule == "FIELD_ADDED"
    }
    assert found == {
        (
            "ReadShareGroupStateSummaryResponse",
            "results[].partitions[].leaderEpoch",
        ): "wire",  # without its request nothing says that it was unstable
        ("ShareGroupMetadataValue", "metadataHash"): "wire",
    }
