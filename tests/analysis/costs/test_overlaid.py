"""Messages written again under an overlay: what stays as it is, and what the overlay has no room for."""

from functools import cache
from types import SimpleNamespace

import pytest

import kwire_cli as kwire
from kwire_cli.analysis.costs.overlaid import Overlaid
from kwire_cli.errors import EncodeError
from kwire_cli.message.decoded import decode
from kwire_cli.spec.overlay import read_overlay

CATALOG = kwire.catalog()


def under(overlay):
    """Messages as they are under an overlay."""
    return Overlaid(CATALOG, SimpleNamespace(message=cache(lambda name: overlay.laid(CATALOG.message(name)))))


def test_a_guess_and_an_anomaly_stay_as_they_are():
    overlaid = Overlaid(CATALOG, kwire.catalog(overlays="all-packed"))
    body = kwire.encode({"clientSoftwareName": "a", "clientSoftwareVersion": "b", "clusterId": None, "nodeId": 7},
                        message="ApiVersionsRequest", version=5)  # fmt: skip
    newer = decode(CATALOG, body, "ApiVersionsRequest", 99)
    cut = decode(CATALOG, body[:-3], "ApiVersionsRequest", 5)
    assert overlaid.spans("ApiVersionsRequest", 99, newer.entry, newer.raw, guess=True) is newer.raw
    assert overlaid.spans("ApiVersionsRequest", 5, cut.entry, cut.raw) is cut.raw
    assert overlaid.as_written == {"of a version that is not known": 1, "with anomalies": 1}
    whole = decode(CATALOG, body, "ApiVersionsRequest", 5)
    assert overlaid.spans("ApiVersionsRequest", 5, whole.entry, whole.raw).stop == len(body) - 3
    assert overlaid.rewritten == 1


def test_what_the_overlay_has_no_room_for_is_an_error_with_its_path():
    overlay = read_overlay('{"messages": {"MetadataResponse": {"fields": {"controllerId": {"encoding": "packed16"}}}}}')
    overlaid = under(overlay)
    value = {"brokers": [], "controllerId": 40000, "topics": []}
    decoded = kwire.decode(
        kwire.encode(value, message="MetadataResponse", version=1), message="MetadataResponse", version=1
    )
    with pytest.raises(
        EncodeError, match="MetadataResponse 1: controllerId: 40000 does not fit int32 written as packed16"
    ):
        overlaid.spans("MetadataResponse", 1, decoded.entry, decoded.raw)


def test_what_the_overlay_takes_away_or_asks_for():
    """A field that goes is an error where it says something; one that is no tagged field any more is written at its
    default.
    """
    decoded = kwire.decode(kwire.encode({"brokers": [], "controllerId": 7, "topics": []}, message="MetadataResponse",
    version=1),
                           message="MetadataResponse", version=1)  # fmt: skip
    gone = under(read_overlay('{"messages": {"MetadataResponse": {"fields": {"controllerId": {"versions": "2+"}}}}}'))
    with pytest.raises(EncodeError, match="MetadataResponse 1: controllerId: the overlay has no place"):
        gone.spans("MetadataResponse", 1, decoded.entry, decoded.raw)
    value = {"errorCode": 0, "apiKeys": [], "throttleTimeMs": 0}
    decoded = kwire.decode(
        kwire.encode(value, message="ApiVersionsResponse", version=3), message="ApiVersionsResponse", version=3
    )
    text = (
        '{"messages": {"ApiVersionsResponse": {"fields": {"zkMigrationReady": {"tag": null, "taggedVersions": null}}}}}'
    )
    mandatory = under(read_overlay(text)).spans("ApiVersionsResponse", 3, decoded.entry, decoded.raw)
    assert mandatory.stop - mandatory.start == decoded.size + 1
    # -1 says nothing as shipped, and is a value where another default is laid over it: a tag, a size and eight bytes.
    text = '{"messages": {"ApiVersionsResponse": {"fields": {"finalizedFeaturesEpoch": {"default": "0"}}}}}'
    other = under(read_overlay(text)).spans("ApiVersionsResponse", 3, decoded.entry, decoded.raw)
    assert other.stop - other.start == decoded.size + 10
