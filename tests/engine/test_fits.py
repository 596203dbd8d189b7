"""The versions of a message that read some bytes exactly."""

from random import Random

import pytest
from kit.messages import value

import kwire_cli as kwire
from kwire_cli.engine.fits import fits, fitting_versions
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import anomalies
from kwire_cli.message.decoded import decode_spec
from kwire_cli.spec.catalog import catalog
from kwire_cli.structs.messages import declare

MESSAGES = ("MetadataResponse", "FetchResponse", "JoinGroupRequest", "OffsetCommitValue", "ShareGroupDescribeResponse")


@pytest.mark.parametrize("message", MESSAGES)
def test_the_versions_that_fit_are_those_that_decode_without_an_anomaly(message):
    spec, dice = catalog().message(message), Random(7)
    found = set()
    for version in spec.valid_versions.each():
        data = kwire.encode(value(dice, declare(spec, version)), message=message, version=version)
        for each in (data, data[:-1], data + b"\0", b"\0\0" + data):
            bodies = [decode_spec(spec, each, v) for v in spec.valid_versions.each()]
            expected = [body.version for body in bodies if body.exact and not body.anomalies]
            assert fitting_versions(spec, each) == expected
            found.add(bool(expected))
        assert version in fitting_versions(spec, b"head" + data + b"tail", 4, 4 + len(data))
    assert found == {True, False}


def test_layouts_that_do_not_fit_are_given_up_early():
    count = 20_000
    entry = entry_for(catalog().message("MetadataRequest"), 1)
    data = count.to_bytes(4, "big") + b"\xff\xff" * count
    whole = walk(entry, data)
    assert anomalies(build(entry, whole))[0].code == "NULL_NOT_ALLOWED"
    assert len(walk(entry, data, strict=True).node) < len(whole.node) / 100
    assert not fits(entry, data)
