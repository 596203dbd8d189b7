"""Damaged captures before and after: the same frames, gaps and anomalies, but for frames that are blank by design."""

import io
import itertools
import math
import random
import tempfile
import zlib

import pytest
from kit import captures
from kit.commands import ROOT

import kwire_cli as kwire
from kwire_cli.engine.codes import REMARKS, faults_among
from kwire_cli.message.frames import SIZE_BYTES, says_size
from kwire_cli.sanitize.captures import Sanitizer
from kwire_cli.sanitize.fields import Fields
from kwire_cli.sanitize.records import ENDS_EARLY
from kwire_cli.sanitize.replacing import Replacement
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments
from kwire_cli.spec.catalog import catalog

CATALOG = catalog()
SAMPLES = sorted([*(ROOT / "samples" / "captures").iterdir(), *(ROOT / "samples" / "incidents").glob("*.pcap")])
SHARED = ROOT.parent / "shared"
LARGE = 400_000
"""Bytes of a capture that is left out."""
MOST = 200
"""Segments of a capture that are damaged: more say nothing new."""


def flipped(segments, dice, share):
    """Of some payloads bits are turned over, in the first bytes more often than elsewhere: a size prefix may stand
    there.
    """
    out = []
    for segment in segments:
        data = bytearray(segment.payload)
        if data and dice.random() < share:
            for _ in range(dice.choice((1, 1, 3))):
                at = dice.randrange(min(4, len(data)) if dice.random() < 0.4 else len(data))
                data[at] ^= 1 << dice.randrange(8)
        out.append(segment._replace(payload=bytes(data)))
    return out


DAMAGE = {
    "none": lambda segments, _: segments,
    "cut": lambda segments, dice: captures.cut(segments, dice, 0.1),
    "flipped": lambda segments, dice: flipped(segments, dice, 0.1),
    "lost": lambda segments, dice: captures.lost(segments, dice, 0.05),
    "reordered": lambda segments, dice: captures.reordered(segments, dice, 6),
}


def damaged(path, how, seed):
    segments = [*Segments()(packets(path))][:MOST]
    dice = random.Random(zlib.crc32(f"{path.name} {how} {seed}".encode()))
    return captures.file_of(DAMAGE[how](segments, dice))


def sanitized(data):
    with tempfile.TemporaryFile() as out:
        Sanitizer(Fields(CATALOG, Replacement(b"key")), out).run(packets(io.BytesIO(data)))
        out.seek(0)
        return out.read()


def is_known(frame):
    """Whether a frame has a whole header, and an api and version that are known for sure."""
    return (
        frame.header
        and frame.header.complete
        and not frame.guess
        and frame.body
        and frame.api_version in frame.body.spec.valid_versions
    )


def is_blank(line):
    """Whether the body of a frame becomes blank: reading it went wrong before its end, or in another way than by
    missing bytes.
    """
    body = line.frame.body
    if line.seen.missing:
        return any(note.code not in ENDS_EARLY for note in faults_among(body.anomalies))
    return not body.complete


def anomalies(line):
    """Return the codes of a line's anomalies but remarks: what would fit depends on the values, which are others."""
    return sorted(each["code"] for each in line.to_json()["anomalies"] if each["code"] not in REMARKS)


def lines(data):
    """Return the lines by stream, side, and where on that side they begin, each with what has to stay, and how far;
    and where each side ends.
    """
    found, at, ends = {}, {}, {}
    for line in traffic(CATALOG, Capture(io.BytesIO(data))):
        document, side = line.to_json(), (line.stream, line.seen.side)
        shape = {key: document.get(key) for key in ("kind", "size", "apiKey", "apiVersion", "code", "protocol")}
        kept = "sure"
        if line.frame:
            known = is_known(line.frame) and (line.request is None or is_known(line.request.frame))
            kept = "" if not known else "body" if is_blank(line) else "sure"
        elif line.seen.code == "NOT_RECOGNISED":
            kept = "" if says_size(line.seen.data, 0, line.seen.size) == line.seen.size - SIZE_BYTES else "framing lost"
        if kept and line.frame:
            shape["anomalies"] = anomalies(line) if kept == "sure" else bool(anomalies(line))
            shape |= {"errors": set(line.error_codes), "missing": line.seen.missing}
        found[*side, at.get(side, 0)] = kept, shape
        ends[side] = at.get(side, 0) + document["size"]
        at[side] = ends[side] + line.seen.missing * (line.seen.code != "LOST")
    return found, ends


def same(data):
    before, ends = lines(data)
    after, ends_after = lines(sanitized(data))
    lost = {place[:2]: place[2] for place, (kept, _) in reversed(before.items()) if kept == "framing lost"}
    before, after = (
        {place: each for place, each in found.items() if place[2] < lost.get(place[:2], math.inf)}
        for found in (before, after)
    )
    assert {side: end for side, end in ends_after.items() if side not in lost} == {
        side: end for side, end in ends.items() if side not in lost
    }
    for place, (kept, shape) in before.items():
        if kept:
            assert place in after, shape
            found = after[place][1]
            if kept == "body":  # which may have no anomaly but what the blank gives
                assert found["errors"] <= shape["errors"], place
                found = found | {"anomalies": bool(found["anomalies"]), "errors": shape["errors"]}
            assert found == shape, place
    # Where nothing was known before, nothing is made up.
    known = {place for place, (kept, shape) in after.items() if kept and shape["kind"] in {"request", "response"}}
    assert known <= {place for place, (kept, _) in before.items() if kept}


def place_in_version(case):
    """A number that orders the cases anew in each version of the package, and alike in all runs of one."""
    path, how = case
    return zlib.crc32(f"{path.name} {how} {kwire.__version__}".encode())


CASES = sorted(itertools.product(SAMPLES, DAMAGE), key=place_in_version)
SAMPLED = CASES[:12]


@pytest.mark.parametrize(("path", "how"), SAMPLED, ids=lambda part: getattr(part, "name", part))
def test_a_damaged_capture_keeps_its_frames_gaps_and_anomalies(path, how):
    same(damaged(path, how, 0))


@pytest.mark.slow  # the sample has its own test
@pytest.mark.parametrize("how", DAMAGE)
def test_so_does_each_capture_with_one_damage(how):
    """Which one goes round, as with the captures of others below."""
    for path in SAMPLES[[*DAMAGE].index(how) :: len(DAMAGE)]:
        data = damaged(path, how, 0)
        try:
            same(data)
        except AssertionError as error:
            error.add_note(path.name)
            raise


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("how", DAMAGE)
def test_so_do_the_captures_of_others(how):
    found = [
        path
        for folder in ("real", "defects")
        for path in (SHARED / folder).rglob("*.pcap*")
        if path.stat().st_size < LARGE
    ]
    at = [*DAMAGE].index(how)
    for path in sorted(found)[at :: len(DAMAGE)]:
        same(damaged(path, how, 0))
