"""All rules: no alarm on traffic that is well."""

import pytest
from kit.calls import INCIDENTS, REAL, codes

WELL = (
    "client-franz-go", "client-kafka-python", "client-kafkajs", "client-librdkafka", "ipv6", "java44-admin",
    "java44-produce-consume", "java44-txn", "old39-java-2.4.1", "old39-java-3.7.2", "old39-kafkajs",
    "old39-sarama-0.11.0.0", "old39-java-4.4.0", "tls-keylog", "zk28-ibp-2.4", "edge-midstream",
)  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("name", WELL)
def test_no_alarm_where_all_is_well(name):
    (path,) = (REAL / name).glob("capture.pcap*")
    assert codes(path, severity="warning") == []


@pytest.mark.parametrize(
    "name",
    [
        "any.pcap",
        "lag.pcap",
        "mirror.pcap",
        "over-the-limit.pcap",
        "slow-fetch.pcap",
        "throttled.pcap",
        "java-tls.pcap",
    ],
)
def test_no_alarm_on_connections_in_other_incidents(name):
    assert codes(INCIDENTS / name, severity="warning") == []
