"""Frames to speak with, and connections that are spoken on."""

import pytest

import kwire_cli
from kwire_cli.message.encode import encode_document
from kwire_cli.source.capture.events import Data, Start
from kwire_cli.source.capture.model import Endpoint
from kwire_cli.source.kafka.connection import Connection
from kwire_cli.source.kafka.traffic import traffic

CATALOG = kwire_cli.catalog()
CLIENT, BROKER = Endpoint(bytes([10, 0, 0, 1]), 50000), Endpoint(bytes([10, 0, 0, 2]), 9092)
MILLISECOND = 1_000_000


class Wire:
    """What tests say over a connection. Side 0 is the client wherever a test does not say otherwise."""

    catalog = CATALOG

    @staticmethod
    def request(api, version=0, correlation=1, client="c", **body):
        header = {"correlationId": correlation, "clientId": client}
        return encode_document(CATALOG, {"kind": "request", "api": api, "apiVersion": version, "header": header, "body": body})

    @staticmethod
    def response(api, version=0, correlation=1, body_version=None, **body):
        document = {"kind": "response", "api": api, "apiVersion": version, "header": {"correlationId": correlation}, "body": body}
        return encode_document(CATALOG, document | ({} if body_version is None else {"bodyVersion": body_version}))

    @staticmethod
    def raw(token):
        return len(token).to_bytes(4, "big") + token

    @staticmethod
    def talk(*said, connection=None, **options):
        """All that is seen when (side, bytes) and (side, number of lost bytes) are said in this order."""
        connection = connection or Connection(CATALOG, **options)
        seen = []
        for number, (side, what) in enumerate(said, 1):
            act = connection.lose if isinstance(what, int) else connection.feed
            seen += act(side, what, number, number * MILLISECOND)
        return [*seen, *connection.end()]

    @staticmethod
    def lines(*said, port=None, opened=True):
        """The lines of a capture in which this is said on one connection; each piece comes a millisecond after the one before."""
        events = [Start(0, CLIENT, BROKER, opened, 0, 1)]
        events += [Data(0, side, data, number * MILLISECOND, number + 1) for number, (side, data) in enumerate(said, 1)]
        return list(traffic(CATALOG, events, port=port))


@pytest.fixture(scope="session")
def wire():
    return Wire
