import pytest

from kwire_cli.errors import InputError
from kwire_cli.source.logs.contents import read_log_file
from kwire_cli.source.logs.files import files_in, partition, walk
from kwire_cli.source.logs.model import BATCH_KINDS, Kind


def put(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"")


def test_a_log_directory_has_its_partitions_in_order_and_their_files_in_order(tmp_path):
    put(tmp_path, "meta.properties", ".lock", "recovery-point-offset-checkpoint")
    put(tmp_path / "b-10")
    put(tmp_path / "b-9.77-future")
    ordered = [f"{0:020}.log", f"{0:020}.index", f"{0:020}.timeindex", f"{7:020}.log", f"{7:020}.snapshot"]
    put(tmp_path / "b-9", "partition.metadata", *reversed(ordered))
    put(tmp_path / "a-0.77-delete", f"{0:020}.log")
    put(tmp_path / "no partition")
    found = walk(tmp_path)
    assert [file.path.name for file in found.files] == [".lock", "meta.properties", "recovery-point-offset-checkpoint"]
    assert [part.path.name for part in found.partitions] == ["a-0.77-delete", "b-9", "b-9.77-future", "b-10"]
    assert [part.name.state for part in found.partitions] == ["delete", "", "future", ""]
    assert [file.path.name for file in found.partitions[1].files] == [*ordered, "partition.metadata"]
    assert len(list(found)) == 3 + 1 + 6


def test_a_text_is_not_a_segment(tmp_path):
    (tmp_path / "server.log").write_text("[2026-11-28 10:00:00,000] INFO started (kafka.server.KafkaServer)\n")
    (tmp_path / "copied.log").write_bytes(bytes(61))
    (tmp_path / f"{0:020}.log").write_text("a broken segment, which is not overlooked")
    names = [file.path.name for file in files_in(tmp_path, BATCH_KINDS)]
    assert names == [f"{0:020}.log", "copied.log"]


def test_the_files_in_use(tmp_path):
    put(tmp_path, f"{9:020}.log", f"{0:020}.log", f"{0:020}.log.deleted", f"{4:020}.log.swap", f"{9:020}.index")
    part = partition(tmp_path)
    assert [file.name.base_offset for file in part.of(Kind.LOG)] == [0, 9]
    assert part.at(Kind.INDEX, 9).path.name == f"{9:020}.index"
    assert part.at(Kind.INDEX, 0) is None


def test_what_can_not_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        walk(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read"):
        partition(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_log_file(tmp_path / f"{0:020}.index")
    with pytest.raises(InputError, match="record batches"):
        read_log_file(tmp_path / f"{0:020}.log")
    with pytest.raises(
        InputError,
        match=r"no index, snapshot or checkpoint; a segment has to be named as Kafka does, 00000000000000000000\.log",
    ):
        read_log_file(tmp_path / "README.md")


@pytest.mark.parametrize("name", ["kafka-0", "broker-1", "data-2", "kafka", "__consumer_offsets-0", "orders-0"])
@pytest.mark.parametrize("inside", [("meta.properties",), ()])
@pytest.mark.parametrize("above", ["", "pods", "pods/a-1/b-2"])
def test_what_is_in_a_folder_decides_whatever_its_name(tmp_path, name, inside, above):
    put(tmp_path / above / name, *inside)
    put(tmp_path / above / name / "orders-0", f"{0:020}.log")
    put(tmp_path / above / name / "orders-1")
    for start in {tmp_path, tmp_path / above, tmp_path / above / name}:
        assert [part.path.name for part in walk(start).partitions] == ["orders-0", "orders-1"]
        assert [file.path.name for file in walk(start).files] == list(inside)
        assert sum(file.kind is Kind.LOG for file in walk(start)) == 1


def test_brokers_beside_each_other_and_several_log_directories_of_one(tmp_path):
    for folder in ("kafka-0/d1", "kafka-0/d2", "kafka-1/d1"):
        put(tmp_path / folder, "meta.properties")
        put(tmp_path / folder / "orders-0", f"{0:020}.log")
    found = walk(tmp_path)
    assert [str(directory.path.relative_to(tmp_path)) for directory in found.directories] == [
        "kafka-0/d1",
        "kafka-0/d2",
        "kafka-1/d1",
    ]
    assert len(found.partitions) == len(found.files) == 3


def test_files_of_a_partition_in_a_log_directory_are_not_lost(tmp_path):
    put(tmp_path / "kafka-0", "meta.properties", f"{0:020}.log")
    put(tmp_path / "kafka-0" / "orders-0", f"{0:020}.log")
    found = walk(tmp_path)
    assert [(part.path.name, part.name and part.name.topic) for part in found.partitions] == [
        ("kafka-0", None),
        ("orders-0", "orders"),
    ]
    assert [file.path.name for file in found.files] == ["meta.properties"]
    assert [file.path.name for file in partition(tmp_path / "kafka-0").files] == [f"{0:020}.log"]


def test_a_link_to_a_partition_has_the_name_of_the_link(tmp_path):
    put(tmp_path / "volume" / "7f3a", f"{0:020}.log")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "orders-4").symlink_to(tmp_path / "volume" / "7f3a")
    (tmp_path / "logs" / "orders-5").symlink_to(tmp_path / "volume" / "7f3a")
    found = walk(tmp_path / "logs")
    assert [(part.name.topic, part.name.partition) for part in found.partitions] == [("orders", 4)]
