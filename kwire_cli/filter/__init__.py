"""The filter language of `--filter`: which frames of a capture are looked at (docs/filter.md)."""

from kwire_cli.filter.columns import COLUMNS, Column
from kwire_cli.filter.compile import Filter, Row, compile_filter
from kwire_cli.filter.error import FilterError
from kwire_cli.filter.known import unknown_part
from kwire_cli.filter.nodes import Name
from kwire_cli.filter.paths import elements
from kwire_cli.filter.places import Fields, Places, Rows, opened_values, places_of
from kwire_cli.filter.tokens import name_of

__all__ = [
    "COLUMNS",
    "Column",
    "Fields",
    "Filter",
    "FilterError",
    "Name",
    "Places",
    "Row",
    "Rows",
    "compile_filter",
    "elements",
    "name_of",
    "opened_values",
    "places_of",
    "unknown_part",
]
