import pytest

from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import CODECS, compress, decompress
from kwire_cli.records.telemetry import otlp
from kwire_cli.sanitize.fields import blank_metrics

METRICS = b"\x0a\x20org.apache.kafka.producer.metric" * 60


@pytest.mark.parametrize("codec", CODECS, ids=CODECS.get)
@pytest.mark.parametrize("size", [2, 3, 129, 130, 131, 900])
def test_metrics_become_others_that_can_be_read(codec, size):
    data = compress(codec, METRICS[:size])
    made = blank_metrics(codec, data)
    assert len(made) == len(data)
    back = decompress(codec, made, Limits())
    assert (len(back.data), back.code) == (size, None)
    assert b"kafka" not in back.data
    pytest.importorskip("opentelemetry.proto.metrics.v1.metrics_pb2")
    assert otlp(back.data) == ({}, None)


def test_what_is_no_metrics_at_all():
    assert blank_metrics(3, b"no lz4") is None
    assert blank_metrics(0, b"") == b""
    assert blank_metrics(0, b"x") is None
