"""The TLS samples, as events before anything is decrypted, and what is said in them."""

from collections import Counter
from functools import cache
from pathlib import Path

import kwire_cli
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.model import Data, Foreign, Gap
from kwire_cli.source.packets.pcap import Secrets
from kwire_cli.source.tls.decryption import Decryption
from kwire_cli.structs.network import TLS_KEY_LOG

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "samples" / "tls"
CASES, BROKER, BROKER_KEYS = FOLDER / "cases.pcapng", FOLDER / "broker.pcapng", FOLDER / "broker.keys"
CATALOG = kwire_cli.catalog()
TLS13, CHACHA13, TLS12, CHACHA12, KEY_UPDATES, EARLY = 0, 1, 5, 6, 13, 16
"""Connections of the cases."""


@cache
def secrets():
    """The secrets blocks of the cases."""
    capture = Capture(str(CASES))
    list(capture)
    return tuple(capture.secrets)


@cache
def broker_secrets():
    """The key log of the broker's capture, as a secrets block."""
    return (Secrets(TLS_KEY_LOG, BROKER_KEYS.read_bytes()),)


@cache
def raw_events(path=CASES):
    """The events of a capture as TCP gives them."""
    capture = Capture(str(path))
    capture.tls.take = lambda events: events
    return tuple(capture)


def stream(number, path=CASES):
    """The raw events of one connection."""
    return [event for event in raw_events(path) if event.connection == number]


def decrypted(events, blocks=None):
    """What comes of events, by the keys of the cases."""
    found = Decryption(blocks=lambda: secrets() if blocks is None else blocks)
    return [each for event in events for each in found.take([event])]


def cut(events, size):
    """The events with their data in pieces of this size."""
    out = []
    for event in events:
        if isinstance(event, Data):
            out += [event._replace(data=event.data[at : at + size]) for at in range(0, len(event.data), size)]
        else:
            out.append(event)
    return out


def said(events):
    """The bytes of data by connection and direction."""
    out = {}
    for event in events:
        if isinstance(event, Data):
            out.setdefault((event.connection, event.direction), bytearray()).extend(event.data)
    return out


def sizes(events):
    """How many bytes events are about, by connection and direction."""
    out = Counter()
    for event in events:
        if isinstance(event, Data):
            out[event.connection, event.direction] += len(event.data)
        elif isinstance(event, Gap | Foreign):
            out[event.connection, event.direction] += event.size
    return out


def lines(path, *keys):
    """The lines of a capture."""
    return list(traffic(CATALOG, Capture(str(path), key_logs=[str(each) for each in keys])))
