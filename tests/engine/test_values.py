"""The layout of a body: the newest one of its version, or an earlier one if the bytes fit that one only."""

import pytest
from kit.messages import BODIES, body_of

import kwire_cli as kwire
from kwire_cli.message.roles import can_hold_secrets
from kwire_cli.spec.files import layout_file, read_bundled

READ_BY_ITS_BUNDLED_DEFINITION = ("3.9", "ShareGroupPartitionMetadataValue")
"""Kafka 4.1 and later have no definition of it; the bundled definition is the one of 3.9."""


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.message)
def test_bytes_of_an_early_layout_are_read_by_it(body):
    decoded = kwire.decode(body.data, message=body.message, version=0)
    [note] = decoded.anomalies
    assert note.code == "EARLY_LAYOUT"
    assert f"{body.message} 0 was read with the layout of Kafka {body.release}" in note.detail
    assert decoded.exact
    assert {name: decoded.value[name] for name in body.part} == body.part
    assert kwire.decode(body.data, message=body.message, version=0, strict=True).value == decoded.value
    chosen = kwire.decode(body.data, message=body.message, version=0, specs=body.release)
    assert (chosen.anomalies, chosen.value) == ([], decoded.value)
    assert kwire.encode(chosen.value, message=body.message, version=0, specs=body.release) == body.data
    assert kwire.encode(decoded.to_json(lossless=True), message=body.message, version=0) == body.data


def test_each_layout_that_is_kept_has_bytes_here():
    kept = {(release, name) for release, names in read_bundled("index.json")["releases"].items() for name in names}
    assert kept - {READ_BY_ITS_BUNDLED_DEFINITION} == {(body.release, body.message) for body in BODIES}
    release, name = READ_BY_ITS_BUNDLED_DEFINITION
    bundled, early = (read_bundled(file) for file in (f"{name}.json", layout_file(release, name)))
    assert bundled["fields"] == early["fields"]


def test_no_early_layout_holds_secrets():
    """Secrets are found by the paths of the newest definitions."""
    assert not [body.message for body in BODIES if can_hold_secrets(body.message)]


def test_bytes_that_fit_no_layout_are_read_by_the_newest():
    data = body_of("ConsumerGroupDescribeResponse")
    newest = kwire.decode(data[:-1], message="ConsumerGroupDescribeResponse", version=0, specs="4.4")
    decoded = kwire.decode(data[:-1], message="ConsumerGroupDescribeResponse", version=0)
    assert decoded.anomalies == newest.anomalies
    assert "EARLY_LAYOUT" not in [note.code for note in decoded.anomalies]
