"""What tests of partitions share."""

import pytest
from kit.logs import Folder


@pytest.fixture
def folder(tmp_path):
    """An empty folder of the partition t-0."""
    path = tmp_path / "t-0"
    path.mkdir()
    return Folder(path)


@pytest.fixture(scope="session")
def folder_at():
    return Folder
