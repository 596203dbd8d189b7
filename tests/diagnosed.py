"""Findings on connections, versions and captures, as `kwire diagnose` gives them, and captures that are real ones
rewritten.
"""

import json
from pathlib import Path

from command_line import kwire
from packets import pcap_file

import kwire_cli
from kwire_cli.analysis.diagnosis.authentication import Authentication
from kwire_cli.analysis.diagnosis.authorization import Authorization
from kwire_cli.analysis.diagnosis.closing import ClosedAtRequest
from kwire_cli.analysis.diagnosis.listeners import Listeners
from kwire_cli.analysis.diagnosis.old_clients import OldClients
from kwire_cli.analysis.diagnosis.packets import Packets
from kwire_cli.analysis.diagnosis.reconnecting import Reconnecting
from kwire_cli.analysis.diagnosis.tls import TlsMismatch
from kwire_cli.analysis.diagnosis.transport import Transport
from kwire_cli.analysis.diagnosis.unanswered import Unanswered
from kwire_cli.analysis.diagnosis.versions import Versions
from kwire_cli.source.kafka.traffic import TcpConnection
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.packets.files import packets
from kwire_cli.source.reading import Reading

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
INCIDENTS = SAMPLES / "incidents"
REAL = ROOT.parent / "shared" / "real" / "own" / "captures"
"""Captures that are not part of the project."""
SECOND = 1_000_000_000
RULES = (
    Authentication, Authorization, ClosedAtRequest, Listeners, OldClients, Packets, Reconnecting, TlsMismatch,
    Transport, Unanswered, Versions,
)  # fmt: skip
CODES = {kind.code for rule in RULES for kind in rule.KINDS}


def diagnosed(*arguments):
    """The findings of RULES in these inputs, as rows."""
    done = kwire("diagnose", *arguments, "--format", "json")
    assert done.code == 0, done.err
    return [row for row in json.loads(done.out)["tables"]["findings"] if row["code"] in CODES]


def texts(*arguments, severity="info"):
    """The findings as triples of code, subject and text."""
    return [(row["code"], row["subject"], row["text"]) for row in diagnosed(*arguments, "--severity", severity)]


def codes(*arguments, severity="info"):
    return [row["code"] for row in diagnosed(*arguments, "--severity", severity)]


def frames(rows, code):
    """The frames that a finding names."""
    (row,) = [row for row in rows if row["code"] == code]
    return [place.get("frame") for place in row["evidence"]]


def subjects(*paths):
    """The lines and TCP connections of captures."""
    how = Reading(catalog=kwire_cli.catalog(), connections=True)
    return [subject for opened in open_inputs([str(path) for path in paths], how) for subject in opened.subjects()]


def rewritten(path, made, change):
    """Write a capture whose packets are what `change` gives for the packets of another; return its path."""
    there = list(packets(str(path)))
    link = there[0].link
    made.write_bytes(pcap_file(change(there), link=link))
    return made


def is_connection(subject):
    return isinstance(subject, TcpConnection)
