from early_layouts import BODIES
from golden_rows import sample

import kwire_cli as kwire
from kwire_cli.message.encode import header_version
from kwire_cli.message.guess import response_candidates

CATALOG = kwire.catalog()


def framed(row):
    api = CATALOG.api(row.message)
    return b"\0\0\0\7" + b"\0" * header_version(CATALOG, "response", api.key, row.version) + row.body, api


def responses():
    return [
        row for row in sample() if row.message.endswith("Response") and row.kafka == "4.4.0" and len(row.body) < 200
    ]


def test_what_a_response_is_is_among_the_candidates():
    rows = responses()[:30]
    assert len(rows) > 20
    for row in rows:
        data, api = framed(row)
        found = response_candidates(CATALOG, data, 0, len(data))
        assert (api.key, row.version) in [(candidate.api.key, candidate.version) for candidate in found]
        assert [candidate.bits for candidate in found] == sorted(candidate.bits for candidate in found)


def test_the_search_can_be_narrowed():
    row = next(row for row in responses() if row.message == "ApiVersionsResponse")
    data, api = framed(row)
    narrow = response_candidates(CATALOG, data, 0, len(data), api=api, version=row.version)
    assert [(candidate.api, candidate.version) for candidate in narrow] == [(api, row.version)]
    assert response_candidates(CATALOG, data, 0, len(data), api=api, version=99) == []


def test_versions_that_share_a_layout_are_found_as_each_alone_is():
    for row in responses()[:60]:
        data, _ = framed(row)
        alone = []
        for api in CATALOG.apis:
            for version in CATALOG[api.response].valid_versions.each() if api.response else ():
                alone += response_candidates(CATALOG, data, 0, len(data), api=api, version=version)
        found = response_candidates(CATALOG, data, 0, len(data))
        assert sorted(found, key=str) == sorted(alone, key=str)
        assert found


def test_a_response_in_an_early_layout_is_found():
    for body in BODIES:
        if body.message.endswith("Response"):
            data = b"\0\0\0\7\0" + body.data
            frame, *_ = kwire.read_frames(data)
            assert (frame.body.message, frame.guess, frame.body.is_early) == (body.message, True, True)


def test_bytes_that_no_response_fits_have_no_candidates():
    assert response_candidates(CATALOG, b"\0\0\0\7" + b"\xfe" * 33, 0, 37) == []
    assert response_candidates(CATALOG, b"", 0, 0) == []


def test_what_begins_with_a_negative_size_is_no_frame():
    rows = [
        row for row in sample() if row.message.endswith("Request") and row.kafka == "4.4.0" and len(row.body) < 200
    ][:30]
    assert len(rows) > 20
    for row in rows:
        api = CATALOG.api(row.message)
        header = (
            api.key.to_bytes(2)
            + row.version.to_bytes(2)
            + b"\0\0\0\7\0\1c"
            + b"\0" * (header_version(CATALOG, "request", api.key, row.version) == 2)
        )
        request = header + row.body
        (bare,) = kwire.read_frames(request)
        assert (bare.kind, bare.api) == ("request", api.name)
        for size in (-1, -len(request), -(2**31)):
            (frame,) = kwire.read_frames(size.to_bytes(4, signed=True) + request)
            assert (frame.kind, frame.body) == ("unknown", None)
            assert [(note.code, str(size) in note.detail) for note in frame.anomalies] == [
                ("FRAME_SIZE_MISMATCH", False)
            ]
