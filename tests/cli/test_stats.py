"""kwire stats: what it counts, over time and by dimension, in every format."""

from kit.captures import spoken_capture
from kit.commands import json_of, kwire
from kit.traffic import Wire


def test_a_client_without_an_id_and_one_with_an_empty_id_are_two_as_in_clients(tmp_path):
    path = tmp_path / "two.pcap"
    ids = ["app", "", None]
    path.write_bytes(
        spoken_capture(
            *((0, Wire.request("Heartbeat", 4, number, client)) for number, client in enumerate(ids * 2, 1)),
            *((1, Wire.response("Heartbeat", 4, number)) for number in range(1, 7)),
        )
    )
    for more, table in ((), "client"), (("--every", "1h"), "overTime"):
        document = json_of("stats", path, "--by", "client", *more)
        rows = {row.get("client", row.get("name")): row["requests"] for row in document["tables"][table]}
        assert rows == dict.fromkeys(ids, 2)
    rows = json_of("clients", path)["tables"]["clients"]
    assert {row["clientId"]: row["requests"] for row in rows} == dict.fromkeys(ids, 2)
    shown = kwire("stats", path, "--by", "client", "-f", "table").out
    assert [line[:3] for line in shown.splitlines()[-3:]] == ["app", "   ", "-  "]
    by_software = json_of("stats", path, "--by", "software")["tables"]["software"]
    assert [row["software"] for row in by_software] == [None]
