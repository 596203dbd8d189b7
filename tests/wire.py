"""Frames to speak with, and connections that are spoken on."""

import base64

import kwire_cli
from kwire_cli.message.encode import encode_document
from kwire_cli.message.known_layout import Layouts
from kwire_cli.source.kafka.connection import Connection
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.model import Data, Endpoint, Start
from kwire_cli.spec.model import default_value

CATALOG = kwire_cli.catalog()
CLIENT, BROKER = Endpoint(bytes([10, 0, 0, 1]), 50000), Endpoint(bytes([10, 0, 0, 2]), 9092)
MILLISECOND = 1_000_000


def filled(spec, fields, version, value):
    """A value with the defaults of all that it leaves out."""
    out = dict(value)
    for field in fields:
        name = field.json_name
        if version not in field.versions or (name not in value and version in field.tagged_versions):
            continue
        inner = spec.struct_fields(field) if field.struct_name else ()
        if name not in value:
            out[name] = filled(spec, inner, version, {}) if inner and not field.is_array else default_value(field)
        elif inner and value[name] is not None:
            out[name] = (
                [filled(spec, inner, version, each) for each in value[name]]
                if field.is_array
                else filled(spec, inner, version, value[name])
            )
    return out


def body_of(message, version, value):
    spec = CATALOG.message(message)
    return filled(spec, spec.fields, version, value)


class Wire:
    """What tests say over a connection. Side 0 is the client wherever a test does not say otherwise."""

    catalog = CATALOG

    @staticmethod
    def request(api, version=0, correlation=1, client="c", **body):
        header = {"correlationId": correlation, "clientId": client}
        return encode_document(
            CATALOG,
            {
                "kind": "request",
                "api": api,
                "apiVersion": version,
                "header": header,
                "body": body_of(f"{api}Request", version, body),
            },
        )

    @staticmethod
    def response(api, version=0, correlation=1, body_version=None, **body):
        filled_body = body_of(f"{api}Response", version if body_version is None else body_version, body)
        document = {
            "kind": "response",
            "api": api,
            "apiVersion": version,
            "header": {"correlationId": correlation},
            "body": filled_body,
        }
        return encode_document(CATALOG, document | ({} if body_version is None else {"bodyVersion": body_version}))

    @classmethod
    def produce(cls, records, topic="t"):
        """A Produce request with these records."""
        partition = {"index": 0, "records": base64.b64encode(records).decode()}
        return cls.request("Produce", 9, acks=1, topicData=[{"name": topic, "partitionData": [partition]}])

    @classmethod
    def fetched(cls, *record_sets):
        """A Fetch response with a topic and its records for each of these pairs."""
        topics = [
            {"topic": topic, "partitions": [{"partitionIndex": 0, "records": base64.b64encode(records).decode()}]}
            for topic, records in record_sets
        ]
        return cls.response("Fetch", 12, responses=topics)

    @staticmethod
    def raw(token):
        return len(token).to_bytes(4, "big") + token

    @staticmethod
    def talk(*said, connection=None, **options):
        """All that is seen when (side, bytes) and (side, number of lost bytes) are said in this order."""
        connection = connection or Connection(Layouts(CATALOG), **options)
        seen = []
        for number, (side, what) in enumerate(said, 1):
            act = connection.lose if isinstance(what, int) else connection.feed
            seen += act(side, what, number, number * MILLISECOND)
        return [*seen, *connection.end()]

    @staticmethod
    def lines(*said, port=None, opened=True):
        """The lines of a capture in which this is said on one connection; each piece comes a millisecond after the one
        before.
        """
        events = [Start(0, CLIENT, BROKER, opened, 0, 1)]
        events += [Data(0, side, data, number * MILLISECOND, number + 1) for number, (side, data) in enumerate(said, 1)]
        return list(traffic(CATALOG, events, port=port))
