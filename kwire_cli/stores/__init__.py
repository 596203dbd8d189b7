"""Files and folders on this machine, or on a store such as S3 that a URL names.

A file on a store is read by position, in blocks.
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
