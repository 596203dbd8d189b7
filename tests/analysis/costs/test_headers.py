import pytest

import kwire_cli as kwire
from kwire_cli.analysis.costs.prices import header_difference


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("MetadataRequest", 1),
        ("MetadataResponse", 1),
        ("ApiVersionsRequest", 1),
        ("ApiVersionsResponse", 0),
        ("SaslHandshakeRequest", 1),
        ("VoteRequest", 1),
    ],
)
def test_a_flexible_header_has_a_byte_for_its_tags(message, more):
    assert header_difference(kwire.catalog(), kwire.catalog().message(message)) == more


def test_every_message_has_an_answer_and_what_has_no_header_none():
    catalog = kwire.catalog()
    for entry in catalog:
        spec = catalog.message(entry.name)
        assert header_difference(catalog, spec) in ({0, 1} if spec.type in {"request", "response"} else {0})
