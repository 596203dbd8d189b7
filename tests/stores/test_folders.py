"""Trees of folders: links are followed once, and loops of links end."""

import os

import pytest

from kwire_cli.errors import InputError
from kwire_cli.stores.opening import tree


def put(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"")


def below(root):
    return [path.relative_to(root).as_posix() for path in tree(root).files()]


def test_each_folder_is_entered_once_and_the_real_one_wins(tmp_path):
    put(tmp_path / "z" / "real", "a")
    (tmp_path / "a-link").symlink_to(tmp_path / "z" / "real")
    assert below(tmp_path) == ["z/real/a"]


def test_links_that_leave_the_tree_are_followed_once(tmp_path):
    put(tmp_path / "outside" / "inner", "a")
    put(tmp_path / "logs", "b")
    for name in ("one", "two"):
        (tmp_path / "logs" / name).symlink_to(tmp_path / "outside")
    assert below(tmp_path / "logs") == ["b", "one/inner/a"]


def test_loops_of_links_end(tmp_path):
    put(tmp_path / "logs" / "deep", "a")
    put(tmp_path / "other", "b")
    (tmp_path / "logs" / "deep" / "up").symlink_to(tmp_path / "logs")
    (tmp_path / "logs" / "self").symlink_to("self")
    (tmp_path / "logs" / "other").symlink_to(tmp_path / "other")
    (tmp_path / "other" / "back").symlink_to(tmp_path / "logs")
    assert below(tmp_path / "logs") == [
        "deep/a",
        "other/b",
        "self",
    ]  # a link that leads nowhere is a file that cannot be read


@pytest.mark.slow
def test_a_deep_tree_is_no_trouble(tmp_path):
    path, depth = tmp_path, 0
    while depth < 1500 and len(os.fspath(path)) < 3900:
        path, depth = path / "d", depth + 1
        path.mkdir()
    put(path, "a")
    try:
        assert len(below(tmp_path)) == 1
    finally:  # what removes temporary folders calls itself for each level
        (path / "a").unlink()
        while path != tmp_path:
            path.rmdir()
            path = path.parent


def test_what_is_no_folder(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        tree(tmp_path / "none")
