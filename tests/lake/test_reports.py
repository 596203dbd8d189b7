"""Reports of `kwire query` count what `kwire stats` and `kwire clients` count; DuckDB and Spark give the same rows."""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest
from kit.captures import spoken_capture
from kit.commands import ROOT, kwire, slow
from kit.traffic import Wire
from kit.views import keyed_answer

import kwire_cli as library
from kwire_cli.analysis.clients import Clients
from kwire_cli.analysis.stats import Stats
from kwire_cli.cli.query import complete_report
from kwire_cli.lake import report_names, reports
from kwire_cli.lake.export import export
from kwire_cli.lake.model import Reading, Wanted
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.opening import open_inputs
from kwire_cli.source.reading import Reading as Opening
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault
from kwire_cli.spec.kafka import API_VERSIONS, WAITING
from kwire_cli.structs.network import PCAP_NANO
from kwire_cli.view.answers import answer_document

CAPTURES = sorted((ROOT / "samples" / "captures").iterdir())
INCIDENTS = [
    ROOT / "samples" / "incidents" / f"{name}.pcap"
    for name in (
        "assignors", "fenced-producer", "hanging-transaction", "isr", "java-tls", "killed-member", "lag",
        "librdkafka-tls", "offset-out-of-range", "permissions", "poison-pill", "rebalancing", "rebalancing-share",
        "sasl", "slow-fetch", "streams-partitions", "throttled", "untrusted",
    )
]  # fmt: skip
"""Captures that share no connection: those of others were made from each other, and `kwire stats` counts an exchange
that two captures show once, which the reports of a lake do not.
"""
LOGS = sorted((ROOT / "samples" / "request-logs").iterdir())
REAL = sorted((ROOT.parent / "shared" / "real").glob("**/*.pcap*"))
CATALOG = library.catalog()
SHARES = {"p50_us": Fraction(50, 100), "p95_us": Fraction(95, 100), "p99_us": Fraction(99, 100)}
KINDS = ("request", "response")
TABLES = frozenset({"frames", "costs"})


def rows(lake, name):
    """The rows that a user gets of a report."""
    done = kwire("query", lake, name, "--format", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)["tables"]["rows"]


@dataclass
class Exact:
    """A fold that keeps what the reports make percentiles and lists of."""

    latency: dict = field(default_factory=lambda: defaultdict(list))
    late: Counter = field(default_factory=Counter)
    errors: dict = field(default_factory=lambda: defaultdict(list))
    topic_clients: dict = field(default_factory=lambda: defaultdict(set))

    def add(self, subject):
        if isinstance(subject, Exchange):
            self._add_exchange(subject)
        elif not isinstance(subject, LineFault):
            self._add_line(subject)

    def _add_exchange(self, exchange):
        for topic in exchange.topics:
            self.topic_clients[topic] |= {exchange.client_id} - {None}
        for error in exchange.errors:
            time = exchange.time and f"{exchange.time.removesuffix('Z')}Z"  # a clock without zone counts as UTC
            self.errors[exchange.api, str(error)].append((time, exchange.client_id))
        if exchange.total_ms is None or exchange.response is None:
            return
        us = round(exchange.total_ms * 1000)
        delayed = exchange.delayed
        self.latency["waits" if delayed else "api", f"{exchange.api} {exchange.api_version}"].append(us)
        self.latency["place", (exchange.api, exchange.broker, delayed)].append(us)
        for topic in () if delayed else exchange.topics:
            self.latency["topic", topic].append(us)

    def _add_line(self, line):
        if line.kind not in {"request", "response"} or line.guess:
            return
        api = line.api or (None if line.api_key is None else str(line.api_key))
        for topic in line.topics:
            self.topic_clients[topic] |= {line.client_id} - {None}
        if line.kind == "request":
            return
        for error in line.errors:
            self.errors[api, str(error)].append((line.time, line.client_id))
        if line.latency is None:
            return
        us = (line.seen.time - line.request.seen.time + 500) // 1000
        self.latency["waits" if line.seen.delayed else "api", f"{api} {line.api_version}"].append(us)
        self.latency["place", (api, line.src, line.seen.delayed)].append(us)
        wait = line.request.field("maxWaitMs")
        self.late[api, line.src, line.seen.delayed] += wait is not None and 0 <= wait * 1000 < us
        for topic in () if line.seen.delayed else line.topics:
            self.latency["topic", topic].append(us)


@dataclass
class Counted:
    """Inputs, their lake, and the answers about them."""

    paths: list
    lake: Path
    exact: Exact = field(default_factory=Exact)
    stats: dict = field(init=False)
    clients: dict = field(init=False)

    def __post_init__(self):
        names = [str(path) for path in self.paths]
        keys = tuple(str(key) for path in self.paths if (key := path.with_suffix(".keys")).exists())
        export(names, self.lake, Wanted(TABLES, Reading(key_logs=keys)))
        self.keys = [word for key in keys for word in ("--tls-keylog", key)]
        stats, clients = Stats(Redaction(CATALOG), ("api", "topic")), Clients(Redaction(CATALOG))
        for opened in open_inputs(names, Opening(catalog=CATALOG, key_logs=keys)):
            for subject in opened.subjects():
                stats.add(subject)
                self.exact.add(subject)
                if isinstance(subject, Exchange):  # the table does not say which ones other brokers forwarded
                    subject = replace(subject, forwarded=False)  # noqa: PLW2901
                clients.add(subject)
        self.stats = keyed_answer(stats.answer())
        self.clients = answer_document(clients.answer())["tables"]

    @property
    def is_logged(self):
        return self.paths[0].suffix == ".log"

    def rows(self, name):
        return rows(self.lake, name)


def lake_of(path, folder):
    export([str(path)], folder, Wanted(TABLES, Reading()))
    return folder


def test_a_client_without_an_id_and_one_with_an_empty_id_are_two(tmp_path):
    path = tmp_path / "two.pcap"
    path.write_bytes(spoken_capture(*((0, Wire.request("Heartbeat", 4, 1, client)) for client in ("", None))))
    assert [row["client_id"] for row in rows(lake_of(path, tmp_path / "lake"), "clients")] == [None, ""]


def test_negative_latencies_are_those_of_the_statistics(tmp_path):
    path, start = tmp_path / "back.pcap", 1_700_000_000_000_000_000
    said = [part for number in range(1, 4) for part in beats(number)]
    path.write_bytes(spoken_capture(*said, times=[start - each * 1_000_000 for each in (0, 5, 10, 12, 20, 20)]))
    [report] = rows(lake_of(path, tmp_path / "lake"), "stats")
    [counted] = json.loads(kwire("stats", path, "--by", "api", "--format", "json").out)["tables"]["api"]
    assert (report["p50_us"], report["max_us"]) == (-2000, 0)
    assert counted["latencyP50Seconds"] == -0.002
    assert (counted["latencyCount"], counted["latencyMaxSeconds"]) == (3, 0)
    [latency] = rows(tmp_path / "lake", "latency")
    assert (latency["min_us"], latency["total_us"]) == (-5000, -7000)


def test_microseconds_of_latencies_are_rounded(tmp_path):
    path, start = tmp_path / "nano.pcap", 1_700_000_000_000_000_000
    path.write_bytes(spoken_capture(*beats(1), times=[start, start + 2_499_600], magic=PCAP_NANO))
    [latency] = rows(lake_of(path, tmp_path / "lake"), "latency")
    assert latency["max_us"] == 2500


def beats(number):
    return (0, Wire.request("Heartbeat", 4, number)), (1, Wire.response("Heartbeat", 4, number))


@pytest.fixture(scope="module", params=["captures", slow("incidents")])
def counted(request, tmp_path_factory):
    return Counted({"captures": CAPTURES, "incidents": INCIDENTS}[request.param], tmp_path_factory.mktemp("lake"))


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    return Counted(LOGS, tmp_path_factory.mktemp("lake of logs"))


def percentile(latencies, share):
    """The smallest latency that this share of all do not exceed."""
    return sorted(latencies)[ceil(share * len(latencies)) - 1] if latencies else None


def check_counts(row, group):
    """Hold the counts of a row against those of a group of `kwire stats`."""
    assert (row["requests"], row["responses"]) == (group["requests"], group["responses"])
    assert [row[f"{kind}_bytes"] or 0 for kind in KINDS] == [group[f"{kind}Bytes"] or 0 for kind in KINDS]
    assert row["errors"] == sum(group["errors"].values())


def check_latencies(row, latencies, group=None, kind="latency"):
    """Hold percentiles against those of the latencies themselves, and of `kwire stats`."""
    for name in SHARES.keys() & row.keys():
        us = row[name]
        assert us == percentile(latencies, SHARES[name])
        if group is not None:
            seconds = group[f"{kind}{name[:3].capitalize()}Seconds"]
            assert us == (None if seconds is None else round(seconds * 1_000_000))
    assert row["max_us"] == max(latencies, default=None)


def check_stats(counted):
    found = {f"{row['api']} {row['api_version']}": row for row in counted.rows("stats")}
    groups = counted.stats["api"]
    assert found.keys() == groups.keys()
    for name, row in found.items():
        group = groups[name]
        check_counts(row, group)
        assert (row["throttled"], row["throttle_ms"] or 0) == (group["throttled"], group["throttleSeconds"] * 1000)
        waits = {column.removeprefix("wait_"): value for column, value in row.items() if column.startswith("wait_")}
        for of, kind, columns in (("api", "latency", row), ("waits", "wait", waits)):
            latencies = counted.exact.latency[of, name]
            assert len(latencies) == (group[f"{kind}Count"] or 0)
            check_latencies(columns, latencies, group, kind)
    return len(found)


def check_topics(counted):
    found = {row["topic"]: row for row in counted.rows("topics")}
    groups = counted.stats["topic"]
    assert found.keys() == groups.keys()
    for name, row in found.items():
        check_counts(row, groups[name])
        assert row["clients"] == len(counted.exact.topic_clients[name])
        assert row["timed"] == (groups[name]["latencyCount"] or 0)
        check_latencies(row, counted.exact.latency["topic", name], groups[name])
    return len(found)


def check_latency(counted):
    found = {(row["api"], row["address"], row["waits"]): row for row in counted.rows("latency")}
    places = {place: us for (of, place), us in counted.exact.latency.items() if of == "place"}
    assert found.keys() == places.keys()
    for place, row in found.items():
        us = places[place]
        check_latencies(row, us)
        assert (row["responses"], row["min_us"], row["total_us"]) == (len(us), min(us), sum(us))
        assert row["late"] == counted.exact.late[place]
        assert row["waits"] or place[0] not in WAITING
    return len(found)


def check_errors(counted):
    found = {(row["api"], row["error"]): row for row in counted.rows("errors")}
    assert found.keys() == counted.exact.errors.keys()
    groups = counted.stats["api"].values()
    assert sum(row["responses"] for row in found.values()) == sum(sum(group["errors"].values()) for group in groups)
    for place, row in found.items():
        times, clients = zip(*counted.exact.errors[place], strict=True)
        times = [time for time in times if time]
        assert row["responses"] == len(clients)
        assert (row["first"], row["last"]) == (min(times, default=None), max(times, default=None))
        assert row["clients"] == ", ".join(sorted({client for client in clients if client is not None}))
    return len(found)


def who(row):
    return row["client_id"], row["software"], row["address"], row["capture"]


def who_of(row):
    return row["clientId"], row["software"], row["address"], row["capture"]


def check_clients(counted):
    found = {who(row): row for row in counted.rows("clients")}
    wanted = {who_of(row): row for row in counted.clients["clients"]}
    assert found.keys() == wanted.keys()
    for client, row in found.items():
        total = wanted[client]
        assert (row["requests"], row["errors"]) == (total["requests"], sum(total["errors"].values()))
        if not counted.is_logged:  # a log says when the broker was done; its requests stand where they came
            assert (row["first"], row["last"]) == (total["first"], total["last"])
        names = {api.rpartition(" ")[0] for api in total["apis"]}
        assert row["apis"] == ", ".join(sorted(names))
    return len(found)


def check_upgrade(counted):
    uses = defaultdict(list)
    highest = defaultdict(int)
    asking = set()
    for row in counted.clients["versions"]:
        api = row["api"] or f"api {row['apiKey']}"
        uses[*who_of(row), api].append(row)
        highest[row["capture"], api] = max(highest[row["capture"], api], row["apiVersion"])
        if row["apiKey"] == API_VERSIONS:
            asking.add((row["clientId"], row["address"], row["capture"]))
    found = {(*who(row), row["api"]): row for row in counted.rows("upgrade")}
    assert found.keys() == uses.keys()
    for place, row in found.items():
        versions = [version["apiVersion"] for version in uses[place]]
        assert (row["lowest"], row["highest"]) == (min(versions), max(versions))
        assert row["requests"] == sum(version["requests"] for version in uses[place])
        assert row["highest_of_all"] == highest[row["capture"], row["api"]]
        assert row["asks_versions"] == ((row["client_id"], row["address"], row["capture"]) in asking)
    return len(found)


def check_overhead(counted):
    done = kwire("overhead", *counted.paths, *counted.keys, "--by", "field", "--format", "json")
    assert done.code == 0, done.err
    (table,) = (table for name, table in json.loads(done.out)["tables"].items() if table and "field" in table[0])
    found = {row["path"]: row["bytes"] for row in counted.rows("overhead")}
    wanted = {row["field"]: row["bytes"] for row in table}
    assert {path: size for path, size in found.items() if size} == {path: size for path, size in wanted.items() if size}
    return len(found)


CHECKS = {
    "stats": check_stats,
    "topics": check_topics,
    "latency": check_latency,
    "errors": check_errors,
    "clients": check_clients,
    "upgrade": check_upgrade,
    "overhead": check_overhead,
}


@pytest.mark.parametrize("name", CHECKS)
def test_reports_count_what_other_commands_count(name, counted):
    assert CHECKS[name](counted) > 2


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("path", REAL[::16], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_reports_of_real_captures(path, tmp_path):
    counted = Counted([path], tmp_path)
    for check in CHECKS.values():
        check(counted)


def test_the_check_finds_costs_that_are_missing(tmp_path):
    lake = tmp_path / "lake"
    export([str(CAPTURES[0])], lake, Wanted(TABLES, Reading()))
    assert rows(lake, "check") == []
    export([str(CAPTURES[1])], lake, Wanted(frozenset({"frames"}), Reading()))
    ((row),) = rows(lake, "check")
    assert row["frame_bytes"] > row["cost_bytes"] > 0


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "overhead"])
def test_reports_of_request_logs(name, logged):
    assert CHECKS[name](logged) > 1


def test_captures_and_request_logs_count_apart(tmp_path):
    """They may show the same requests."""
    export([str(CAPTURES[0]), str(LOGS[0])], tmp_path / "both", Wanted(TABLES, Reading()))
    found = {name: rows(tmp_path / "both", name) for name in ("stats", "errors")}
    for source, path in (("capture", CAPTURES[0]), ("request log", LOGS[0])):
        alone = lake_of(path, tmp_path / source)
        for name, both in found.items():
            assert [row for row in both if row["source"] == source] == rows(alone, name)


# The command.


def test_help_names_the_reports():
    assert f"REPORT is a ready-made question: {', '.join(report_names())}." in " ".join(
        kwire("query", "--help").out.split()
    )


def test_each_report_says_what_it_answers():
    for about in reports().values():
        assert about[0].isupper()
        assert not about.endswith(".")


def test_an_unknown_report(tmp_path):
    done = kwire("query", tmp_path, "latencies")
    assert done.code == 2
    assert "there is no report 'latencies'" in done.err
    assert ", ".join(report_names()) in done.err


def test_names_of_reports_are_completed():
    (item,) = complete_report(None, None, "lat")
    assert (item.value, item.help) == ("latency", reports()["latency"])


def test_help_reads_no_library_of_the_lake():
    code = (
        "import sys, kwire_cli.cli.query; sys.exit(any(name in sys.modules for name in ('duckdb', 'numpy', 'pyarrow')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.slow
def test_libraries_take_no_others_into_a_command(tmp_path):
    code = (
        "import atexit, sys; from kwire_cli.cli.main import main; "
        "atexit.register(lambda: print({'cffi', 'pandas', 'pyarrow'} & {*sys.modules})); main()"
    )
    capture = str(ROOT / "samples" / "captures" / "ipv6.pcap")
    for arguments in (["export", capture, "-o", "lake"], ["query", "lake", "topics"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, cwd=tmp_path, capture_output=True)
        assert done.stdout.decode().splitlines()[-1] == "{'pyarrow'}"
