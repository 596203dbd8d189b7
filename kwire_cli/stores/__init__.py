"""Paths to a file or folder of this machine, or to what a URL names on a store such as S3.

Bytes are read where they are.
"""

from kwire_cli.stores.opening import FileBytes
from kwire_cli.stores.paths import (
    BYTES,
    Place,
    absolute,
    exists,
    in_order,
    in_parallel,
    is_file,
    is_folder,
    is_text,
    is_url,
    location,
    path_of,
    refuse_bytes,
    refuse_unreadable,
    sizes,
)
from kwire_cli.stores.stored import Stored

__all__ = [
    "BYTES",
    "FileBytes",
    "Place",
    "Stored",
    "absolute",
    "exists",
    "in_order",
    "in_parallel",
    "is_file",
    "is_folder",
    "is_text",
    "is_url",
    "location",
    "path_of",
    "refuse_bytes",
    "refuse_unreadable",
    "sizes",
]
