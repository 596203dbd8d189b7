"""Captures of which one side alone is left, and no SYN: the frames of that side, held against those of the whole
capture.
"""

import re
from collections import Counter

import pytest
from kit.captures import capture_of
from kit.commands import ROOT, slow
from kit.messages import SHARED

import kwire_cli
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import endpoints
from kwire_cli.source.packets.segments import Segments
from kwire_cli.structs.network import SYN

CATALOG = kwire_cli.catalog()
COUNTS = ("frames", "framed", "of their kind", "other bytes")


def lines_of(segments):
    return list(traffic(CATALOG, capture_of(segments)))


def identities(lines):
    return Counter((line.src, line.dst, bytes(line.seen.data)) for line in lines)


def left_alone(path):
    """Cut a capture down to the side that sends frames of a kind, without SYNs, and count as COUNTS says, by kind."""
    segments = list(Segments()(packets(path)))
    whole = lines_of(segments)
    return {kind: counted(segments, whole, kind) for kind in ("request", "response")}


def counted(segments, whole, kind):
    expected = identities(line for line in whole if line.kind == kind and not line.seen.missing)
    tokens = identities(line for line in whole if line.kind == "sasl-token")
    sides = {(line.src, line.dst) for line in whole if line.kind == kind}
    found = lines_of(
        segment for segment in segments if tuple(map(str, endpoints(segment.ends))) in sides and not segment.flags & SYN
    )
    framed = identities(line for line in found if line.is_frame)
    of_kind = identities(line for line in found if line.kind == kind)
    found = (expected, framed & expected, of_kind & expected, framed - expected - tokens)
    return Counter({name: each.total() for name, each in zip(COUNTS, found, strict=True)})


def totals(paths):
    """The counts of all these captures, by kind."""
    sums = {}
    for path in paths:
        for kind, counts in left_alone(path).items():
            sums.setdefault(kind, Counter(dict.fromkeys(COUNTS, 0))).update(counts)
    return sums


@pytest.mark.parametrize("pattern", ["ipv6.*", slow("[!n]*")])
def test_either_side_alone_is_framed_as_the_whole(pattern):
    for total in totals((ROOT / "samples" / "captures").glob(pattern)).values():
        assert total["frames"] > 50
        assert total["frames"] == total["framed"] == total["of their kind"]
        assert not total["other bytes"]


@pytest.mark.slow
@pytest.mark.shared
def test_one_side_of_all_real_captures():
    page = (ROOT / "docs" / "evidence" / "conformance.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| (request|response)s \| ([\d, |]+) \|$", page, re.MULTILINE))
    for kind, total in totals((SHARED / "real" / "own" / "captures").glob("*/capture.pcap*")).items():
        assert [int(number.replace(",", "")) for number in listed[kind].split(" | ")] == [
            total[name] for name in COUNTS
        ]
