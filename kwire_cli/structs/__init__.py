"""The construct declarations: every layout on the wire, each declared once. Read them in this order.

- `numbers`: integers, varints (KIP-482), zig-zag varints (KIP-98), the encodings of KAFKA-9927, booleans, uuids.
- `lengths`: strings, bytes, arrays and nullable structs, plain and compact.
- `composites`: structs, structs with a size, choices by bits, series without a count.
- `tags`: the tag section of KIP-482: TAGGED_FIELD is tag, size and data, TAG_SECTION a count of them.
- `rejected`: tagged fields as KIP-482 rejects them, for comparison.
- `headers`: FRAME, REQUEST_HEADERS 0 to 2, RESPONSE_HEADERS 0 and 1.
- `messages`: `declare` makes the declaration of any message at a version from its definition in specs/.
- `records`: record sets, one file a format: `v0` and `v1` (messages), `v2` (BATCH, RECORD), and the drafts that were
  never shipped, `kip82` (headers with integer keys) and `kip98` (MESSAGE_SET).
- `logs`, `schemas`: indexes, snapshots and checkpoints of a log; schema ids before keys and values.
- `compression`, `network`: framings of codecs; capture files, link layers, IP, TCP, TLS.

`repr` of a declaration shows its names and types; `kwire spec show MESSAGE VERSION --format construct` prints one.
"""
