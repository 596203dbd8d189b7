"""Bodies of many kinds in one buffer, each as if it had been decoded alone."""

import pytest
from golden_rows import sample

pytest.importorskip("numba")

import kwire_cli as kwire
from kwire_cli.message.decoded import decode
from kwire_cli.pipeline.line_walks import Place, together

pytestmark = pytest.mark.numba


def test_every_body_is_in_one_group():
    data, places = b"", []
    for row in sample():
        places.append(Place(row.catalog.message(row.message), row.version, len(data), len(data) + len(row.body)))
        data += row.body
    seen = set()
    for group in together(data, places):
        assert not group.guess
        assert group.walk.complete.all()
        for job, number in enumerate(group.which.tolist()):
            seen.add(number)
            row, place = sample()[number], places[number]
            assert (group.spec.name, group.version) == (row.message, row.version)
            alone = decode(row.catalog, row.body, row.message, row.version).raw
            assert [end - place.start for end in group.walk.spans(job).end] == [*alone.end]
    assert seen == {*range(len(places))}


def test_an_unknown_version_is_a_guess():
    spec = kwire.catalog().message("ApiVersionsResponse")
    (group,) = together(b"\0" * 20, [Place(spec, 99, 0, 20)])
    assert (group.guess, group.version, group.layout_version) == (True, 99, spec.valid_versions.high)
    assert [*together(b"", [])] == []
