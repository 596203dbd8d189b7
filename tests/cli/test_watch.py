"""`kwire watch`: streams in memory, tools that stand in for tcpdump, and real packets on the loopback interface where
that is allowed.
"""

import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import packets as make
import pytest
from answers import keyed
from command_line import ROOT, Terminal, hold_page, kwire

from kwire_cli.analysis.stats import OTHERS, Stats
from kwire_cli.cli.environment import Environment
from kwire_cli.cli.main import run
from kwire_cli.source.packets import live
from kwire_cli.source.packets.files import packets
from kwire_cli.view.lines import plain, without_control
from kwire_cli.view.terminal import answer_text
from kwire_cli.view.traffic import interval_line, rate, rows_for, screen_head

SAMPLE = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
CONTENT = SAMPLE.read_bytes()
COMMAND = [sys.executable, "-m", "kwire_cli", "watch"]
PATIENCE = 60


def totals(done):
    return json.loads(done.out.splitlines()[-1])


def lines_in(documents):
    return sum(sum(document["facts"]["frames"].values()) for document in documents)


def test_the_page_says_what_the_commands_print(updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(ROOT / "docs" / "live.md", updating)


def test_the_totals_are_those_of_the_statistics():
    done = kwire("watch", "-", stdin=CONTENT)
    assert done.code == 0, done.err
    assert done.out == kwire("decode", SAMPLE, "--stats", "--format", "table").out
    document = totals(kwire("watch", "-", "--format", "jsonl", stdin=CONTENT))
    assert (document.pop("kind"), bool(document.pop("time")), document.pop("seconds") >= 0) == ("total", True, True)
    assert document == json.loads(kwire("decode", SAMPLE, "--stats", "--format", "json").out)


def test_a_file_is_said_to_be_followed():
    with running(SAMPLE) as process:
        said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        ended(process, 130)
    assert said == f"kwire: {SAMPLE} is a file, and is followed as it grows; Ctrl-C ends it with the totals\n"
    assert "is a file" not in kwire("watch", SAMPLE, "--duration", "0.1").err


def test_a_filter_leaves_frames_out():
    document = totals(kwire("watch", "-", "--format", "jsonl", "--filter", "api == Produce", stdin=CONTENT))
    assert [*keyed(document)["api"]] == ["Produce 9"]
    assert kwire("watch", "-", "--filter", "api ==", stdin=CONTENT).code == 2


def test_packets_are_kept(tmp_path):
    kept = tmp_path / "kept.pcapng"
    assert kwire("watch", "-", "--output", kept, stdin=CONTENT).code == 0
    assert kept.read_bytes() == CONTENT


def test_no_file_is_written_over_unless_that_is_asked_for(tmp_path):
    file = tmp_path / "own.pcapng"
    file.write_bytes(CONTENT)
    for force, said in (((), "is there already"), (("--force",), "this is the input itself")):
        done = kwire("watch", file, "--duration", "0.1", "--output", file, *force)
        assert done.code == 2
        assert said in done.err
        assert file.read_bytes() == CONTENT
    other = tmp_path / "other.pcapng"
    other.write_bytes(b"old")
    assert kwire("watch", "-", "--output", other, stdin=CONTENT).code == 2
    assert other.read_bytes() == b"old"
    assert kwire("watch", "-", "--output", other, "--force", stdin=CONTENT).code == 0
    assert other.read_bytes() == CONTENT
    done = kwire("watch", "-", "--output", tmp_path / "no" / "folder", stdin=CONTENT)
    assert done.code == 2
    assert "cannot be written" in done.err


def test_where_nothing_is_of_kafka_it_says_so():
    done = kwire("watch", "-", stdin=make.pcap_file([]))
    assert done.code == 0
    assert "nothing of Kafka was seen" in done.err
    assert kwire("watch", "-", stdin=b"").code == 2
    assert kwire("watch", "-", stdin=b"no capture at all").code == 2


def test_without_an_interface_they_are_named():
    done = kwire("watch", stdin=None)
    assert done.code == 2
    assert "which interface" in done.err


# A stream that is written slowly


def running(*arguments, environment=None, **options):
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | (environment or {}),
        **options,
    )


def ended(process, code):
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    return out, err


def test_intervals_come_while_the_stream_goes_on_and_add_up_to_the_total():
    some = list(packets(SAMPLE))
    process = running("-", "--format", "jsonl", "--every", "0.1", stdin=subprocess.PIPE)
    with process:
        half = len(some) // 2
        process.stdin.buffer.write(make.pcap_file(some[:half], link=some[0].link))
        process.stdin.buffer.flush()
        intervals = []
        while lines_in(intervals) <= 10:  # though nothing more comes
            intervals.append(json.loads(process.stdout.readline()))
        process.stdin.buffer.write(make.pcap_file(some[half:], link=some[0].link)[len(make.pcap_file([])) :])
        out, _ = ended(process, 0)
    *more, total = [json.loads(line) for line in out.splitlines()]
    assert total["kind"] == "total"
    assert {each["kind"] for each in (*intervals, *more)} == {"interval"}
    seen = lines_in((*intervals, *more))
    assert 0 < seen <= lines_in([total]) == 52


def test_on_a_terminal_the_screen_is_renewed(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LINES", "30")

    class Slow(io.BytesIO):
        def read(self, _=-1):
            time.sleep(0.06)
            return super().read(4000)

    out = Terminal()
    environment = Environment(stdin=Slow(CONTENT), stdout=out, stderr=io.BytesIO(), variables={})
    assert run(["watch", "-", "--every", "0.1"], environment) == 0
    shown = out.getvalue().decode()
    assert shown.count("Ctrl-C ends it") > 1
    assert "\x1b[?25l" in shown
    assert shown.rindex("\x1b[?25h") < shown.rindex("frames")  # the cursor is back before the totals
    assert "req/s" in shown


# Tools


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Puts a script in the place of tcpdump or dumpcap, and takes all others away."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(live, "_PLACES", ())
    monkeypatch.setenv("PATH", str(folder))

    def put(name, script):
        path = folder / name
        path.write_text(f"#!/bin/sh\nPATH={os.defpath}\n{script}\n")
        path.chmod(0o755)
        return folder

    return put


def test_tcpdump_captures_and_ctrl_c_prints_the_totals(tool, tmp_path):
    said = tmp_path / "arguments"
    folder = tool(
        "tcpdump", f'echo "$@" > {said}\ncat {SAMPLE}\necho "7 packets dropped by kernel" >&2\nexec sleep 100'
    )
    process = running("eth7", "--port", "9092", "--port", "9093", "--every", "0.1", environment={"PATH": f"{folder}"})
    with process:
        while "0.0 req/s" in (line := process.stdout.readline()):
            pass
        assert "req/s" in line
        process.send_signal(signal.SIGINT)
        out, err = ended(process, 130)
    assert "Produce 9" in out
    assert "7 packets" in err
    assert said.read_text().split() == [
        "-i",
        "eth7",
        "-U",
        "-n",
        "-s",
        "0",
        "-w",
        "-",
        "tcp",
        "port",
        "9092",
        "or",
        "tcp",
        "port",
        "9093",
    ]


def test_dumpcap_serves_too_and_the_time_may_be_limited(tool):
    tool("dumpcap", f"cat {SAMPLE}; exec sleep 100")
    begun = time.monotonic()
    done = kwire("watch", "eth7", "--duration", "1.5", "--format", "jsonl")
    assert done.code == 0, done.err
    assert time.monotonic() - begun > 1
    assert lines_in([totals(done)]) == 52


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ('echo "tcpdump: eth7: You don\'t have permission to perform this capture" >&2; exit 1', "setcap cap_net_raw"),
        (
            'echo "tcpdump: eth7: No such device exists" >&2; exit 1',
            "there is no interface of this name; interfaces are lo",
        ),
        ('echo "tcpdump: something else" >&2; exit 1', "can't capture on eth7: tcpdump: something else"),
        ("exit 1", "without a word"),
    ],
)
def test_why_a_tool_does_not_capture(tool, script, why, monkeypatch):
    monkeypatch.setattr(live, "interfaces", lambda: ["lo", "eth0"])
    tool("tcpdump", script)
    done = kwire("watch", "eth7")
    assert done.code == 2
    assert why in done.err


def test_where_there_is_no_tool_it_says_which_and_what_else(tool):
    tool("nothing", "")
    done = kwire("watch", "eth7")
    assert done.code == 2
    assert "tcpdump or dumpcap" in done.err
    assert "kwire watch -" in done.err


def test_names_that_would_move_the_cursor_do_not(wire):
    stats = Stats()
    for line in wire.lines((0, wire.request("Metadata", 4, client="\x1b[2J"))):
        stats.add(line)
    for line in screen_head(interval_line(stats, 1, "2026-01-01T00:00:00"), "lo", 3700.5):
        assert "\x1b" not in plain(without_control(line))
    assert "\x1b" not in answer_text(stats.answer(rows_for(40)))


def test_groups_are_bounded(wire):
    stats = Stats(most=2)
    for number in range(6):
        for line in wire.lines((0, wire.request("Metadata", 4, client=f"client-{number}"))):
            stats.add(line)
    assert {name: group.requests for name, group in stats.groups["client"].items()} == {
        "client-0": 1,
        "client-1": 1,
        OTHERS: 4,
    }
    total = Stats(most=2)
    total.merge(stats)
    total.merge(stats)
    assert sum(group.requests for group in total.groups["client"].values()) == 12


def test_rates_are_in_units():
    assert [rate(size) for size in (0, 999, 1500, 2_500_000, 3e9)] == [
        "0.0 B/s",
        "999.0 B/s",
        "1.5 kB/s",
        "2.5 MB/s",
        "3.0 GB/s",
    ]


# Real packets


def may_capture():
    found = shutil.which("tcpdump", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not found:
        return False
    try:
        begun = subprocess.run(
            [found, "-i", "lo", "-c", "1", "-w", os.devnull, "port 1"], capture_output=True, timeout=2, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return begun.returncode == 0


def exchange(server, client, wire, count):
    """So many requests over real sockets, each with its answer."""
    for number in range(1, count + 1):
        client.sendall(wire.request("Metadata", 4, number, "a-real-client", topics=[{"name": "a-real-topic"}]))
        server.recv(1 << 16)
        server.sendall(wire.response("Metadata", 4, number, topics=[{"name": "a-real-topic", "errorCode": 3}]))
        client.recv(1 << 16)


def test_real_packets_on_the_loopback_interface(wire, tmp_path):
    if not may_capture():
        pytest.skip("tcpdump is not installed, or not allowed to capture")
    kept = tmp_path / "kept.pcap"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        process = running("lo", "--port", port, "--format", "jsonl", "--every", "0.2", "--output", kept)
        with process:
            deadline = time.monotonic() + PATIENCE
            while not (kept.exists() and kept.stat().st_size) and time.monotonic() < deadline:
                time.sleep(0.05)  # tcpdump listens once it has written the file's header
            with socket.create_connection(("127.0.0.1", port)) as client, listener.accept()[0] as server:
                exchange(server, client, wire, 5)
                found = {}
                while sum(found.values()) < 10:
                    for kind, count in json.loads(process.stdout.readline())["facts"]["frames"].items():
                        found[kind] = found.get(kind, 0) + count
                assert found == {"request": 5, "response": 5}  # before anything ended
            process.send_signal(signal.SIGINT)
            out, err = ended(process, 130)
    total = keyed(json.loads(out.splitlines()[-1]))
    assert total["client"]["a-real-client"]["requests"] == 5, err
    assert total["topic"]["a-real-topic"]["errors"] == {"UNKNOWN_TOPIC_OR_PARTITION": 5}
    assert total["api"]["Metadata 4"]["latencyCount"] == 5
    assert kwire("decode", kept, "--format", "jsonl").out.count('"kind":"response"') == 5


def test_decode_prints_each_frame_before_the_next_packet_is_written():
    some = list(packets(SAMPLE))
    command = [sys.executable, "-m", "kwire_cli", "decode", "-", "--format", "jsonl"]
    expected = kwire("decode", "-", "--format", "jsonl", stdin=make.pcap_file(some, link=some[0].link)).out.splitlines()
    header = len(make.pcap_file([]))
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(make.pcap_file([], link=some[0].link))
        arrived = []
        reader = threading.Thread(target=lambda: arrived.extend(process.stdout))
        frames = [json.loads(line)["packet"] for line in expected]
        for packet in some[: frames[5]]:
            process.stdin.write(make.pcap_file([packet], link=packet.link)[header:])
        process.stdin.flush()
        first = [process.stdout.readline().decode().rstrip("\n") for _ in range(6)]
        assert first == expected[:6]  # and the pipe is still open
        reader.start()
        for packet in some[frames[5] :]:
            process.stdin.write(make.pcap_file([packet], link=packet.link)[header:])
        process.stdin.close()
        reader.join()
    assert [re.sub(r"\n$", "", line.decode()) for line in arrived] == expected[6:]
