import pytest

import kwire_cli as kwire
from kwire_cli.message.encode import header_spec
from kwire_cli.structs import headers
from kwire_cli.structs.messages import declare

CATALOG = kwire.catalog()
DECLARED = [
    *((("request", "kafka"), version, decl) for version, decl in headers.REQUEST_HEADERS.items()),
    *((("response", "kafka"), version, decl) for version, decl in headers.RESPONSE_HEADERS.items()),
]


@pytest.mark.parametrize(("of", "version", "decl"), DECLARED)
def test_a_header_is_declared_as_kafkas_definition_has_it(of, version, decl):
    spec = header_spec(CATALOG, *of)
    assert version in spec.valid_versions
    assert repr(declare(spec, version)) == repr(decl)


def test_all_versions_of_the_definitions_are_declared():
    for kind, declared in (("request", headers.REQUEST_HEADERS), ("response", headers.RESPONSE_HEADERS)):
        assert [*header_spec(CATALOG, kind).valid_versions.each()] == [*declared]


def test_the_beginnings_of_frames_are_sizes_and_heads():
    start = {"size": 9, "requestApiKey": 1, "requestApiVersion": 2, "correlationId": 3, "clientIdLength": -1}
    assert headers.REQUEST_START.build(start).hex() == "00000009" + "0001" + "0002" + "00000003" + "ffff"
    assert headers.RESPONSE_START.build({"size": 4, "correlationId": 3}).hex() == "00000004" + "00000003"


def test_layouts_for_people_have_names_and_types():
    assert headers.header_layout(headers.REQUEST_HEADERS[2]) == (
        "requestApiKey INT16, requestApiVersion INT16, correlationId INT32, clientId NULLABLE_STRING, tag section"
    )
