"""Options for the keys and values of applications: formats, schemas, and fields to hide.

The options become part of the catalog of definitions, so that all readers of records decode keys and values alike.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.options import Definitions
from kwire_cli.cli.typed_options import option
from kwire_cli.source.reading import Reading

if TYPE_CHECKING:
    from kwire_cli.records.schemas.serdes import Serdes
    from kwire_cli.spec.catalog import Catalog


class Payloads(Definitions):
    """Options for reading keys and values: --value, --key, --schemas and --redact."""

    SECTION: ClassVar[str] = "Input"
    SHARED: ClassVar[bool] = True

    value: str | None = option(
        "--value", metavar="FORMAT[:SCHEMA]", help="Decode values by this format, such as avro or json."
    )
    key: str | None = option(
        "--key", rare=True, metavar="FORMAT[:SCHEMA]", help="Decode keys by this format, such as text or long."
    )
    schemas: tuple[str, ...] = option(
        "--schemas",
        rare=True,
        multiple=True,
        metavar="WHERE",
        shell_complete=complete_file,
        help="Take schemas from files, answers of a registry or a _schemas topic.",
    )
    redact: tuple[str, ...] = option(
        "--redact",
        section="Output",
        rare=True,
        multiple=True,
        metavar="FIELD",
        help="Hide these fields of decoded records, such as 'value.card.*'; repeatable.",
    )

    @property
    def reads_payloads(self) -> bool:
        """Return whether a format of keys or values, or a source of schemas is given."""
        return bool(self.value or self.key or self.schemas)

    @cached_property
    def catalog(self) -> Catalog:
        """Return the definitions, with the formats of keys and values."""
        catalog = super().catalog
        if self.value is None and self.key is None and not (self.schemas or self.redact):
            return catalog
        return catalog.with_serdes(self._serdes(catalog))

    def _serdes(self, catalog: Catalog) -> Serdes:
        from kwire_cli.source.schema_inputs import serdes_from  # few runs read schemas

        return serdes_from(Reading(catalog=catalog), self.schemas, key=self.key, value=self.value, redact=self.redact)
