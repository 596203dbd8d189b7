"""Commands that read several captures: files of a folder are one capture, those of two folders are two."""

import gzip
import json
import random
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from kit import traffic as make
from kit.captures import packet_of
from kit.commands import kwire

from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "captures"
PYTHON, SARAMA = SAMPLES / "kafka-python-4.4.0.pcapng", SAMPLES / "sarama-0.8.2.0-3.9.2.pcapng"


def rows(*arguments, **options):
    found = kwire("decode", *map(str, arguments), "--format", "jsonl", **options)
    assert found.code == 0, found.err
    return [json.loads(line) for line in found.out.splitlines()]


def without(lines, *names):
    return [{name: value for name, value in line.items() if name not in names} for line in lines]


def made(path):
    return [packet_of(segment, number) for number, segment in enumerate(Segments()(packets(path)), 1)]


def written(path, some, *, pack=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = make.pcap_file(some)
    path.write_bytes(gzip.compress(content) if pack else content)
    return path


@pytest.mark.parametrize("sample", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_any_rotation_decodes_as_one_file(tmp_path, sample):
    dice, some = random.Random(7), made(sample)
    one = rows(written(tmp_path / "one" / "x.pcap", some))
    cuts = [0, *sorted(dice.sample(range(1, len(some)), min(6, len(some) - 1))), len(some)]
    files = [
        written(tmp_path / "in" / f"{number}.pcap", some[start:stop], pack=number % 3 == 2)
        for number, (start, stop) in enumerate(pairwise(cuts))
    ]
    found = rows(*dice.sample(files, len(files)))
    assert without(found, "file", "packet") == without(one, "packet")
    places = [
        (str(files[number]), packet - start)
        for packet in (line["packet"] for line in one)
        for number, (start, stop) in enumerate(pairwise(cuts))
        if start < packet <= stop
    ]
    assert [(line["file"], line["packet"]) for line in found] == places


@pytest.mark.parametrize("seed", range(3))
def test_files_that_overlap_are_merged_by_time(tmp_path, seed):
    dice, some = random.Random(seed), made(PYTHON)
    which = [dice.randrange(3) for _ in some]
    files = [
        written(tmp_path / f"{number}.pcap", [packet for packet, own in zip(some, which, strict=True) if own == number])
        for number in range(3)
    ]
    one, found = rows(written(tmp_path / "one" / "x.pcap", some)), rows(*files)
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
    assert {line["capture"] for line in rows(first, second, "--capture-point", "{parent}-{parent.parent}")} == {
        f"{each}-{tmp_path.name}" for each in "AB"
    }


def test_one_connection_from_two_points(tmp_path):
    files = [tmp_path / folder / "x.pcapng" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        shutil.copy(PYTHON, file)
    alone = rows(files[0])
    assert len(rows(*files)) == 2 * len(alone)
    assert without(rows(*files, "--merge-points"), "file", "packet") == without(alone, "packet")


def both(tmp_path):
    files = [tmp_path / folder / "x.pcapng" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        shutil.copy(PYTHON, file)
    return [*map(str, files)]


def test_clients_of_two_captures_are_others(tmp_path):
    found, alone = (
        json.loads(kwire("clients", *files, "--format", "json").out)["tables"]["clients"]
        for files in (both(tmp_path), [str(PYTHON)])
    )
    assert len(found) == 2 * len(alone)
    assert {client["capture"] for client in found} == {str(tmp_path / "a"), str(tmp_path / "b")}
    assert {client["capture"] for client in alone} == {None}


def test_overhead_by_capture_and_stream(tmp_path):
    found = kwire("overhead", *both(tmp_path), "--by", "capture", "--by", "stream", "--format", "json")
    assert found.code == 0, found.err
    alone = kwire("overhead", str(PYTHON), "--by", "stream", "--format", "json")
    tables = json.loads(found.out)["tables"]
    assert [row["capture"] for row in tables["byCapture"]] == [str(tmp_path / each) for each in "ab"]
    assert len(tables["byStream"]) == 2 * len(json.loads(alone.out)["tables"]["byStream"])


def test_statistics_and_csv_are_of_all(tmp_path):
    files = both(tmp_path)
    counted = json.loads(kwire("stats", *files, "--format", "json").out)
    assert counted["facts"]["frames"]["request"] == 2 * sum(line["kind"] == "request" for line in rows(PYTHON))
    lines = kwire("decode", *files, "--format", "csv").out.splitlines()
    assert sum(line.startswith("capture,file,frame") for line in lines) == 1
    assert sum(line.startswith(f"{tmp_path / 'b'},") for line in lines) == len(rows(PYTHON))


def test_a_pipe_beside_a_file_is_a_capture_of_its_own():
    found = rows("-", str(PYTHON), stdin=PYTHON.read_bytes())
    assert len(found) == 2 * len(rows(PYTHON))
    assert {line["capture"] for line in found} == {"standard input", str(SAMPLES)}


def test_options_that_contradict():
    found = kwire("decode", str(PYTHON), str(SARAMA), "--merge-points", "--capture-point", "{name}")
    assert found.code == 2
    assert "omit --capture-point" in found.err
