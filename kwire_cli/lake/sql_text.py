"""Names and strings in SQL: the only way in which a name from outside gets into a query of kwire's own."""

from __future__ import annotations


def quote_text(text: str) -> str:
    """Return a string as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """Return the name of a table or a column as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
