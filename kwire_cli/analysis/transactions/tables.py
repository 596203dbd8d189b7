"""The tables that the replay of transactions fills.

A column has a name, the type that DuckDB gives it, and its meaning for docs/tables.md. Rows are in the order of
`ordinal`.
"""

from __future__ import annotations

from kwire_cli.facts.buffers import PLACE

AMOUNTS = "MAP(VARCHAR, BIGINT)"
TRANSACTIONS = (
    ("ordinal", "BIGINT", "the order of begin"),
    ("name", "VARCHAR", "the transactional id, or `producer` and its id"),
    ("transactional_id", "VARCHAR", "null if no input names it"),
    ("producer_id", "BIGINT", "null if unknown"),
    ("epoch", "INTEGER", "the epoch of the producer"),
    ("began", "TIMESTAMPTZ", "null if the transaction began before the input"),
    ("ended", "TIMESTAMPTZ", "when the client got the answer to its end"),
    ("decided", "TIMESTAMPTZ", "when the end was requested or written"),
    ("duration_s", "DOUBLE", "the seconds from begin to end"),
    ("timeout_s", "DOUBLE", "transaction.timeout.ms in seconds"),
    ("result", "VARCHAR", "`committed`, `aborted`, `open`, or `unknown` without the coordinator's side"),
    ("ended_by", "VARCHAR", "`client`, `coordinator` or `initProducerId`"),
    ("partitions", "VARCHAR[]", "the partitions, such as `orders-0`"),
    ("added", "VARCHAR[]", "the partitions that were added at the coordinator"),
    ("marked", "VARCHAR[]", "the partitions whose marker was seen"),
    ("is_from_beginning", "BOOLEAN", "whether the producer's InitProducerId was seen"),
    ("is_in_logs", "BOOLEAN", "whether logs show the transaction, not traffic"),
    ("groups", "VARCHAR[]", "the groups whose offsets are in the transaction"),
    ("batches", "BIGINT", "the batches written"),
    ("records", "BIGINT", "the records written"),
    ("bytes", "BIGINT", "the bytes written"),
    ("errors", AMOUNTS, "the errors and how often each was answered"),
    ("clients", "VARCHAR[]", "the clients"),
    ("places", [PLACE], "the first events"),
)
EVENTS = (
    ("ordinal", "BIGINT", "the order of events"),
    ("time", "TIMESTAMPTZ", "when the first request was complete, or the record was written"),
    ("answered", "TIMESTAMPTZ", "when the last response was complete"),
    ("name", "VARCHAR", "the name of the transaction"),
    ("transactional_id", "VARCHAR", "null if no input names it"),
    ("producer_id", "BIGINT", "null if unknown"),
    ("epoch", "INTEGER", "the epoch of the producer"),
    ("event", "VARCHAR", "`initProducerId`, `addPartitions`, `produce`, `endTransaction`, `state`, `records`, …"),
    ("count", "BIGINT", "the requests that the event stands for"),
    ("detail", "VARCHAR", "what the event is about"),
    ("errors", AMOUNTS, "the errors and how often each was answered"),
    ("is_ok", "BOOLEAN", "whether a part of the request had no error"),
    ("client", "VARCHAR", "the client; null in logs"),
    ("place", PLACE, "the frame, line or offset"),
)
OPEN_IN_LOGS = (
    ("ordinal", "BIGINT", "the order of partitions"),
    ("topic_partition", "VARCHAR", "the partition"),
    ("producer_id", "BIGINT", "the producer"),
    ("epoch", "INTEGER", "the epoch of the producer"),
    ("transactional_id", "VARCHAR", "null if no input names it"),
    ("first_offset", "BIGINT", "the first offset of the transaction: the last stable offset"),
    ("end_offset", "BIGINT", "the end of the log"),
    ("since", "TIMESTAMPTZ", "the time of the first record"),
    ("until", "TIMESTAMPTZ", "the newest time in the log"),
    ("open_s", "DOUBLE", "the seconds between these"),
    ("coordinator", "VARCHAR", "the state of the transactional id in `__transaction_state`"),
    ("is_hanging", "BOOLEAN", "whether the coordinator does not know of the transaction; null if that is not clear"),
    ("place", PLACE, "the first record"),
)
TABLES = {"transactions": TRANSACTIONS, "transaction_events": EVENTS, "open_in_logs": OPEN_IN_LOGS}
