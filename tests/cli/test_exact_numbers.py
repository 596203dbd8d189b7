"""Numbers in reports have the digits that the input has, and none has noise of floating point behind them."""

import pytest
from kit.captures import spoken_capture
from kit.commands import ROOT, json_of, lines_of, slow
from kit.traffic import SECOND, Wire

from kwire_cli.structs.network import PCAP_NANO

pytestmark = pytest.mark.usefixtures("few_rules")

INCIDENTS = ROOT / "samples" / "incidents"
LOG = ROOT / "samples" / "request-logs" / "kafka-request.log"
CAPTURES = ["hanging-transaction.pcap"]
REPORTS = ["sequence", "groups", "summary", "stats --every 1s", "clients"]
OF_BYTES = ["overhead", "compare --advise"]
NANOSECOND = 9
START = 1_700_000_000 * SECOND


def numbers(value):
    """Yield the numbers in a JSON value that have a fraction."""
    if isinstance(value, float):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from numbers(member)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        *((command, INCIDENTS / name) for command in REPORTS + OF_BYTES for name in CAPTURES),
        *(slow(command, LOG) for command in REPORTS if command != "summary"),
        ("summary", LOG),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_no_number_of_a_report_has_noise(command, path):
    assert [number for number in numbers(json_of(*command.split(), path)) if number != round(number, NANOSECOND)] == []


@pytest.mark.parametrize(("unit", "took"), [(1000, 0.002_001), (1, 0.002_000_093)])
def test_latencies_of_sequences_are_those_of_frames_in_microseconds(unit, took, tmp_path):
    times = [START + 7 * unit, START + 7 * unit + round(took * SECOND)]
    said = (0, Wire.request("Heartbeat")), (1, Wire.response("Heartbeat"))
    path = tmp_path / "fine.pcap"
    path.write_bytes(spoken_capture(*said, times=times, magic=PCAP_NANO))
    _, arrow = json_of("sequence", path)["tables"]["arrows"]
    [_, frame] = lines_of("decode", path)
    assert frame["latency"] == took
    assert arrow["latencySeconds"] == round(took, 6)  # tables have microseconds
