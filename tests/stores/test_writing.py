"""Files are written, moved and removed alike on this machine and on stores."""

import pytest
from kit.commands import slow
from kit.lakes import serving

from kwire_cli.errors import InputError
from kwire_cli.stores.paths import path_of
from kwire_cli.stores.writing import below, make_folder, move, put, remove, remove_empty, remove_tree, write


@pytest.fixture(scope="module")
def s3():
    with serving() as store:
        yield store


@pytest.fixture(params=["here", "memory", slow("s3")])
def folder(request, tmp_path):
    """A folder, where it can be one whose name has the characters of a glob."""
    if request.param == "memory":  # fsspec takes them for a glob there
        return path_of("memory://kwire-written/lake")
    return (path_of(request.getfixturevalue("s3").url()) if request.param == "s3" else tmp_path) / "a[1]*b"


def test_files(folder, tmp_path):
    assert below(folder) == []
    make_folder(folder / "in")
    write(folder / "in" / "one", b"1")
    write(folder / "in" / "one", b"one")
    write(folder / "two", b"")
    local = tmp_path / "local"
    local.write_bytes(b"three")
    put(local, folder / "in" / "three")
    assert not local.exists()
    assert below(folder) == ["in/one", "in/three", "two"]
    move(folder / "in" / "one", folder / "two")
    assert [(folder / name).read_bytes() for name in below(folder)] == [b"three", b"one"]
    remove(folder / "two")
    remove(folder / "two")
    assert not remove_empty(folder / "in")
    remove_tree(folder)
    remove_tree(folder)
    assert below(folder) == []
    assert not path_of(str(folder)).exists()


def test_an_empty_folder_goes(tmp_path):
    for folder in (tmp_path / "empty", path_of("memory://kwire-written/empty")):
        make_folder(folder)
        assert remove_empty(folder)
        assert not path_of(str(folder)).exists()


@pytest.mark.slow  # starts a store
def test_what_cannot_be_written_is_an_error(s3, tmp_path):
    (tmp_path / "file").touch()
    nowhere = path_of(s3.url().replace(s3.bucket, "no-such-bucket", 1))
    for place in (tmp_path / "file" / "x", nowhere / "x"):
        for writes in (lambda place: write(place, b""), lambda place: put(tmp_path / "file", place)):
            with pytest.raises(InputError, match="cannot be written to: "):
                writes(place)
    assert (tmp_path / "file").exists()
