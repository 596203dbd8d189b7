"""Bodies of many kinds in one buffer, each as if it had been decoded alone."""

from collections import Counter

from kit.messages import sample

import kwire_cli as kwire
from kwire_cli.message.decoded import decode
from kwire_cli.pipeline.line_walks import Place, together


def test_every_body_is_walked_once():
    data, places = b"", []
    for row in sample():
        places.append(Place(row.catalog.message(row.message), row.version, len(data), len(data) + len(row.body)))
        data += row.body
    walked = Counter()
    for walk in together(data, places):
        assert walk.complete.all()
        for job, start in enumerate(walk.jobs[:, 1].tolist()):
            walked[start, tuple(end - start for end in walk.spans(job).end)] += 1
    expected = Counter()
    for row, place in zip(sample(), places, strict=True):
        expected[place.start, tuple(decode(row.catalog, row.body, row.message, row.version).raw.end)] += 1
    assert walked == expected


def test_the_nearest_layout_serves_for_an_unknown_version():
    spec = kwire.catalog().message("ApiVersionsResponse")
    (unknown,) = together(b"\0" * 20, [Place(spec, 99, 0, 20)])
    (newest,) = together(b"\0" * 20, [Place(spec, spec.valid_versions.high, 0, 20)])
    assert unknown.spans(0).end == newest.spans(0).end
    assert [*together(b"", [])] == []
