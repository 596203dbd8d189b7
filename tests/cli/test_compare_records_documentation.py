"""docs/compare.md names all options and forms of records."""

import inspect

from command_line import ROOT

from kwire_cli.analysis.costs.header_forms import HEADER_FORMS
from kwire_cli.analysis.costs.record_forms import FORMS
from kwire_cli.cli.compare_records import RecordOptions
from kwire_cli.records.compression import CODECS


def test_every_form_and_option_is_on_the_page():
    page = (ROOT / "docs" / "compare.md").read_text("utf-8")
    fields = [RecordOptions.__dataclass_fields__.get(name) for name in inspect.get_annotations(RecordOptions)]
    options = {
        name
        for field in fields
        if field and field.metadata
        for declared in field.metadata["kwire"]
        for name in declared.names
    }
    assert {name for name in (*FORMS, *HEADER_FORMS, *CODECS.values()) if f"`{name}`" not in page} == set()
    assert {name for name in options if name not in page} == set()
