"""The filter language of `--filter`: which frames of a capture are looked at (docs/filter.md)."""

from kwire_cli.filter.columns import COLUMNS, Column
from kwire_cli.filter.compile import Filter, Row, compile_filter
from kwire_cli.filter.error import FilterError
from kwire_cli.filter.known import Fields, unknown_part
from kwire_cli.filter.nodes import Name

__all__ = ["COLUMNS", "Column", "Fields", "Filter", "FilterError", "Name", "Row", "compile_filter", "unknown_part"]
