"""Client metrics (KIP-714): compressed OTLP, decompressed, and decoded where opentelemetry-proto is installed (the
extra `kwire[schemas]`).

Sources: ClientTelemetryUtils.compress, PushTelemetryRequest.metricsData; opentelemetry/proto/metrics/v1/metrics.proto.
"""

from __future__ import annotations

import base64
from typing import Any

from kwire_cli.engine.codes import Anomaly
from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import decompress
from kwire_cli.records.payload_model import Payload

TYPE = "MetricsData"
"""opentelemetry.proto.metrics.v1.MetricsData."""
VERSION = 1

LIMITS = Limits(output=16 << 20, ratio=100, floor=1 << 20)
"""A broker takes a megabyte of compressed metrics by default (telemetry.max.bytes), and each two bytes of OTLP can
become an object in Python."""

MISSING = "decoding OTLP needs opentelemetry-proto: pip install 'kwire[schemas]'"


def telemetry(path: str, compression_type: Any, data: Any) -> Payload:
    """Decode the metrics in a PushTelemetry request. `compression_type` is a field of the same request: 0 none, 1 gzip,
    2 snappy, 3 lz4, 4 zstd.

    `data` is protobuf's JSON form of MetricsData, in which 64-bit integers are text. If decoding is not possible, it is
    an object with `size`, the number of bytes of the decompressed message, and `missing`, the package to install, or
    `bytes`, the message itself as base64 text.
    """
    unpacked = decompress(compression_type if isinstance(compression_type, int) else 0, data, LIMITS)
    notes = [Anomaly(unpacked.code, "", unpacked.used, unpacked.detail)] if unpacked.code else []
    metrics, wrong = otlp(unpacked.data)
    if wrong:
        notes.append(Anomaly("INVALID_PROTOBUF", "", 0, wrong))
    return Payload(path, TYPE, VERSION, data, plain=metrics, notes=tuple(notes))


def otlp(message: bytes) -> tuple[dict[str, Any], str | None]:
    """Return the JSON form of an OTLP MetricsData message, and the reason if it is malformed."""
    try:
        from google.protobuf.json_format import MessageToDict  # noqa: PLC0415 - an extra, and slow to import
        from google.protobuf.message import DecodeError  # noqa: PLC0415 - as above
        from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData  # noqa: PLC0415 - as above
    except ImportError:
        return {"size": len(message), "missing": MISSING}, None
    kept = {"size": len(message), "bytes": base64.b64encode(message).decode("ascii")}
    try:
        return dict(MessageToDict(MetricsData.FromString(message))), None
    except (DecodeError, RecursionError, ValueError, OverflowError) as error:
        return kept, f"the metrics are no OTLP: {error}"
