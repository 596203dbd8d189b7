import re
import zlib

import pytest

from kwire_cli.records.compression import CODECS, library


@pytest.mark.parametrize(
    ("codec", "says"), [(1, r"zlib [\d.]+.*, level 6"), (2, r"cramjam [\d.]+, no levels"), (3, r"lz4 [\d.]+, level 1")]
)
def test_a_codec_names_its_library_and_kafkas_level(codec, says):
    assert re.fullmatch(says, library(codec))


def test_another_level_is_said():
    assert library(1, 9) == f"zlib {zlib.ZLIB_RUNTIME_VERSION}, level 9"
    assert re.fullmatch(r"zstd \d+\.\d+\.\d+, level 19", library(4, 19))
    assert library(4).endswith("level 3")


def test_every_codec_has_one():
    assert all(library(codec) for codec in CODECS)
    assert library(0) == "not compressed"
