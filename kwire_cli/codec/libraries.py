"""Which library compresses, and how hard: what a size after compression is worth nothing without."""

from __future__ import annotations

from kwire_cli.codec.compression import CODECS
from kwire_cli.codec.zstd_frames import DEFAULT_LEVEL

_DEFAULTS = {"gzip": 6, "lz4": 1, "zstd": DEFAULT_LEVEL}
"""What `compress` does without a level; lz4 then is the fast compressor, whose only level Kafka calls 1 (9 and others are those of LZ4 HC)."""


def library(codec_id: int, level: int | None = None) -> str:
    """The library and level behind `compress` with these arguments, such as `zlib 1.3.1, level 6`. Kafka uses others, and gets other bytes."""
    name = CODECS[codec_id]
    if name == "none":
        return "not compressed"
    used = _DEFAULTS.get(name) if level is None else level
    return f"{_version(name)}, {'no levels' if used is None else f'level {used}'}"


def _version(name: str) -> str:
    if name == "gzip":
        import zlib  # noqa: PLC0415 - start-up is a feature

        return f"zlib {zlib.ZLIB_RUNTIME_VERSION}"
    if name == "snappy":
        import cramjam  # noqa: PLC0415 - as above

        return f"cramjam {cramjam.__version__}"
    if name == "lz4":
        import lz4  # noqa: PLC0415 - as above

        return f"lz4 {lz4.library_version_string()}"
    import zstandard  # noqa: PLC0415 - as above

    return f"zstd {'.'.join(map(str, zstandard.ZSTD_VERSION))}"
