"""Paths of stores do what those of this machine do: the same trees on stores and on disk."""

import os
import pickle

import fsspec
import pytest
from kit.lakes import serving

import kwire_cli as kwire
from kwire_cli.source.files import named
from kwire_cli.stores.opening import FileBytes, tree
from kwire_cli.stores.paths import in_order, path_of, sizes
from kwire_cli.stores.stored import Stored

TREE = (
    "logs/t-0/00000000000000000000.log",
    "logs/t-0/.kafka_cleanshutdown",
    "logs/t 1%20-1/x.log",
    "caps/a.pcap",
    "caps/a.pcapng",
    "caps/deep/er/b.pcap",
)
GLOBS = (
    "*",
    "**",
    "logs/*",
    "logs/**",
    "**/*.pcap",
    "caps/*.pcap*",
    "caps/?.pcap",
    "caps/[ab].pcap",
    "logs/*-?/*.log",
    "logs/t-0/.*",
    "none/*",
    "caps/a.pcap/*",
)


@pytest.fixture(scope="module")
def s3():
    with serving() as store:
        yield store


@pytest.fixture(params=["memory", "s3"])
def trees(request, tmp_path):
    """The same files in a folder and on a store."""
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    if request.param == "s3":
        store = request.getfixturevalue("s3")
        yield tmp_path, path_of(store.copy(tmp_path, "tree"))
        return
    memory = fsspec.filesystem("memory")
    for name in TREE:
        memory.pipe(f"/kwire-tree/{name}", name.encode())
    yield tmp_path, path_of("memory://kwire-tree")
    memory.rm("/kwire-tree", recursive=True)


def below(paths, root):
    """The paths below a root."""
    return [f"{path}".removeprefix(str(root)).strip("/") for path in paths]


def test_folders_and_files(trees):
    here, there = trees
    assert below(in_order(there.everything()), there) == below(in_order(here.rglob("*")), here)
    assert below(tree(there).files(), there) == below(tree(here).files(), here)
    folders = [below([folder.path for folder in tree(root).folders], root) for root in (here, there)]
    assert sorted(folders[0]) == sorted(folders[1])
    for one, other in ((here, there), *((here / name, there / name) for name in ("logs", "caps/deep", *TREE))):
        assert (one.exists(), one.is_dir(), one.is_file()) == (other.exists(), other.is_dir(), other.is_file())
        if one.is_dir():
            assert below(in_order(other.iterdir()), there) == below(in_order(one.iterdir()), here)
        else:
            assert (other.name, other.parent.name, other.stat().st_size) == (
                one.name,
                one.parent.name,
                one.stat().st_size,
            )
            assert other.read_bytes() == one.read_bytes()
            assert other.with_suffix(".index").name == one.with_suffix(".index").name
            assert os.fspath(other) == str(other) == str(there / one.relative_to(here).as_posix())
            assert path_of(str(other)) == pickle.loads(pickle.dumps(other)) == other
    assert sizes([there / TREE[0], there / "nothing", there]) == [len(TREE[0]), 0, 0]


@pytest.mark.parametrize("pattern", GLOBS)
def test_globs_match_what_they_match_here(trees, pattern):
    here, there = trees

    def found(root):
        try:
            names = below(named(str(root / pattern)), root)
        except kwire.InputError as error:
            return error.reason
        return sorted(name for name in names if name)  # in memory, ** is not the folder itself

    assert found(there) == found(here)


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("s3://bucket", ("s3://bucket", "")),
        ("s3://bucket/logs/", ("s3://bucket", "logs")),
        ("s3://bucket/a-?/b.log", ("s3://bucket", "a-?/b.log")),
        ("https://server/b.log?Signature=x", ("https://server", "b.log?Signature=x")),
        ("hdfs://node:8020/logs/x y.log", ("hdfs://node:8020", "logs/x y.log")),
        ("hdfs:///logs", ("hdfs://", "logs")),
    ],
)
def test_parts_of_urls(url, parts):
    found = Stored.of(url)
    assert (found.root, found.path) == parts
    assert Stored.of(str(found)) == found


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nosuch://x/y", "fsspec does not know nosuch://"),
        ("s3://key:secret@bucket/x", "a URL must not contain a password"),
        ("memory://nowhere-at-all", "there is no such file or folder"),
        ("memory://nowhere-at-all/*", "there is no such file or folder"),
    ],
)
def test_what_is_wrong_is_said(url, says):
    with pytest.raises(kwire.InputError, match=says) as caught:
        named(url)
    assert "secret" not in str(caught.value)


def test_missing_libraries_are_named(monkeypatch):
    import sys

    from fsspec.registry import _registry, known_implementations

    for url, says in (
        ("s3://a-bucket-of-its-own/x", r"s3:// needs one more library: Install s3fs.*pip install 'kwire\[stores\]'"),
        ("gs://a-bucket-of-its-own/x", "gs:// needs one more library: .*gcsfs"),
        ("abfs://a-container-of-its-own/x", "abfs:// needs one more library: .*adlfs"),
    ):
        implementation = known_implementations[url.partition(":")[0]]["class"]
        _registry.pop(url.partition(":")[0], None)
        monkeypatch.setitem(sys.modules, implementation.partition(".")[0], None)
        with pytest.raises(kwire.InputError, match=says):
            named(url)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(kwire.InputError, match=r"fsspec is needed to read from stores.*pip install 'kwire\[stores\]'"):
        named("memory://a-store-of-its-own/else")


def test_a_folder_is_not_read_as_a_file(trees):
    _, there = trees
    for read in (there.open, there.stat, lambda: FileBytes(there)):
        with pytest.raises(kwire.InputError, match="cannot be read: it is a folder"):
            read()


def test_objects_that_stand_for_folders_are_folders(s3):
    s3.put("marked/a.log", b"a")
    s3.files.call_s3("put_object", Bucket=s3.bucket, Key="marked/empty/", Body=b"")
    there = path_of(s3.url("marked"))
    for entries in (there.iterdir(), there.everything()):
        assert [(entry.name, entry.is_dir()) for entry in entries] == [("a.log", False), ("empty", True)]
    assert named(s3.url("marked/*")) == [s3.url("marked/a.log"), s3.url("marked/empty")]


def test_a_server_that_does_not_answer_is_an_error():
    with pytest.raises(kwire.InputError, match=r"cannot be read: .*127.0.0.1"):
        named("http://127.0.0.1:1/x")
