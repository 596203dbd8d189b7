import mmap

import pytest

from kwire_cli.records.codecs import crc32, crc32c, xxh32_short

# The check values of the catalogue of parametrised CRC algorithms.
CHECK = b"123456789"


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_check_values(kind):
    assert crc32(kind(CHECK)) == 0xCBF43926
    assert crc32c(kind(CHECK)) == 0xE3069283


def test_a_part_of_a_map():
    with mmap.mmap(-1, 4096) as area:
        area[100:109] = CHECK
        with memoryview(area) as view, view[100:109] as part:
            assert crc32(part) == 0xCBF43926
            assert crc32c(part) == 0xE3069283


# Made by the reference implementation, xxHash 0.8.
@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"", 0x02CC5D05),
        (b"a", 0x550D7456),
        (b"abc", 0x32D153FF),
        (b"abcd", 0xA3643705),
        (b"123456789", 0x937BAD67),
        (b"fourteen bytes", 0xC5B7968A),
    ],
)
def test_xxhash_of_few_bytes(data, value):
    assert xxh32_short(data) == value
