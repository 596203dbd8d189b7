"""Prefixes of keys and values that name a schema.

Source: Confluent's SchemaId (magic bytes 0 and 1).
"""

from __future__ import annotations

from kwire_cli.structs.composites import plain

ID = plain(magic="int8", id="int32")
GUID = plain(magic="int8", guid="uuid")
