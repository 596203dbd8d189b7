"""Commands that read several captures: files of a folder are one capture, those of two folders are two."""

import gzip
import random
import shutil
from pathlib import Path

import pytest
from kit import traffic as make
from kit.captures import packet_of
from kit.commands import json_of, kwire, lines_of

from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "captures"
PYTHON, SARAMA = SAMPLES / "kafka-python-4.4.0.pcapng", SAMPLES / "sarama-0.8.2.0-3.9.2.pcapng"


def rows(*arguments, **options):
    return lines_of("decode", *map(str, arguments), **options)


def without(lines, *names):
    return [{name: value for name, value in line.items() if name not in names} for line in lines]


def made(path):
    return [packet_of(segment, number) for number, segment in enumerate(Segments()(packets(path)), 1)]


def written(path, some):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(make.pcap_file(some))
    return path


@pytest.mark.parametrize("sample", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_files_of_one_capture_decode_as_one_file(tmp_path, sample):
    dice, some = random.Random(7), made(sample)
    which = sorted(dice.randrange(3) for _ in some)
    files = [
        written(tmp_path / f"{number}.pcap", [packet for packet, own in zip(some, which, strict=True) if own == number])
        for number in range(3)
    ]
    files[2].write_bytes(gzip.compress(files[2].read_bytes()))
    one, found = rows(written(tmp_path / "one" / "x.pcap", some)), rows(*dice.sample(files, len(files)))
    assert without(found, "file", "packet") == without(one, "packet")
    numbers = [(str(files[own]), which[: at + 1].count(own)) for at, own in enumerate(which)]
    assert [(line["file"], line["packet"]) for line in found] == [numbers[line["packet"] - 1] for line in one]


@pytest.mark.parametrize(("one", "other"), [(PYTHON, PYTHON), (PYTHON, SARAMA)])
def test_two_folders_are_two_captures(tmp_path, monkeypatch, one, other):
    monkeypatch.chdir(tmp_path)
    for folder, sample in (("A", one), ("B", other)):
        Path(folder).mkdir()
        shutil.copy(sample, folder)
    first, second = Path("A", one.name), Path("B", other.name)
    found = rows(first, second)
    assert without(found, "capture", "file") == rows(first) + rows(second)
    assert {(line["capture"], line["file"]) for line in found} == {("A", str(first)), ("B", str(second))}
    assert {line["capture"] for line in rows(first, second, "--capture-point", "([^/]+)/([AB])/")} == {
        f"{tmp_path.name}/{each}" for each in "AB"
    }


def both(tmp_path):
    files = [tmp_path / folder / "x.pcapng" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        shutil.copy(PYTHON, file)
    return [*map(str, files)]


def test_files_that_overlap_in_time_are_captures_of_their_own(tmp_path):
    files = [str(shutil.copy(PYTHON, tmp_path / name)) for name in ("a.pcapng", "b.pcapng")]
    done = kwire("decode", "--format", "jsonl", *files)
    assert "files that overlap in time are read apart" in done.err
    assert "(a.pcapng, b.pcapng); mergecap" in done.err
    assert len(done.out.splitlines()) == 2 * len(rows(PYTHON))


def test_clients_of_two_captures_are_others(tmp_path):
    some = made(PYTHON)
    later = [packet._replace(time=packet.time + 3600 * make.SECOND) for packet in some]
    files = [written(tmp_path / folder / "x.pcap", each) for folder, each in (("a", some), ("b", later))]
    found, alone = (json_of("clients", *inputs)["tables"]["clients"] for inputs in (files, [PYTHON]))
    assert len(found) == 2 * len(alone)
    assert {client["capture"] for client in found} == {str(tmp_path / "a"), str(tmp_path / "b")}
    assert {client["capture"] for client in alone} == {None}


@pytest.mark.parametrize(("command", "table"), [("clients", "clients"), ("stats", "client")])
def test_exchanges_that_two_captures_show_count_once(tmp_path, command, table):
    found, alone = (json_of(command, *files)["tables"][table] for files in (both(tmp_path), [str(PYTHON)]))
    assert [row["requests"] for row in found] == [row["requests"] for row in alone]


def test_overhead_by_capture_and_stream(tmp_path):
    tables = json_of("overhead", *both(tmp_path), "--by", "capture", "--by", "stream")["tables"]
    assert [row["capture"] for row in tables["byCapture"]] == [str(tmp_path / each) for each in "ab"]
    assert len(tables["byStream"]) == 2 * len(json_of("overhead", str(PYTHON), "--by", "stream")["tables"]["byStream"])


def test_statistics_and_csv_are_of_all(tmp_path):
    files = both(tmp_path)
    counted = json_of("stats", *files)
    assert counted["facts"]["frames"]["request"] == 2 * sum(line["kind"] == "request" for line in rows(PYTHON))
    lines = kwire("decode", *files, "--format", "csv").out.splitlines()
    assert sum(line.startswith("capture_point,file,frame") for line in lines) == 1
    assert sum(line.startswith(f"{tmp_path / 'b'},") for line in lines) == len(rows(PYTHON))


def test_a_pipe_beside_a_file_is_a_capture_of_its_own():
    found = rows("-", str(PYTHON), stdin=PYTHON.read_bytes())
    assert len(found) == 2 * len(rows(PYTHON))
    assert {line["capture"] for line in found} == {"standard input", str(SAMPLES)}
