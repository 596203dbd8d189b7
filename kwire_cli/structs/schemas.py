"""Prefixes of keys and values that name a schema.

Sources: Confluent's SchemaId (magic bytes 0 and 1); Apicurio's Default4ByteIdHandler and DefaultIdHandler, which have
the same magic byte; AWS Glue's AWSSchemaRegistryConstants.
"""

from __future__ import annotations

from kwire_cli.structs.composites import plain

ID = plain(magic="int8", id="int32")
LONG_ID = plain(magic="int8", id="int64")
GUID = plain(magic="int8", guid="uuid")
GLUE = plain(magic="int8", compression="int8", guid="uuid")
"""The compression of the value after the prefix is 5 for zlib, and 0 if the value is not compressed."""
HEADER_ID = plain(id="int64")
"""The value of Apicurio's record headers contentId and globalId."""
