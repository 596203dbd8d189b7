"""What forms of a proposal do to programs without it."""

import pytest

from kwire_cli.analysis.costs.forms import Form
from kwire_cli.analysis.costs.proposal_effects import effects
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.field_text import overlay_of_field


def effects_of(text, version, later=None):
    old = catalog().message("FetchRequest")
    new = overlay_of_field(old, text).laid(old)
    return [*effects([(Form("as is", old, version), Form("plain", new, later or version))])]


@pytest.mark.parametrize(
    ("text", "version", "later", "effect"),
    [
        ("zone: string", 12, None, "plain: a new version is needed. In version 12, a program with the field and one"),
        ("zone: string, tag", 12, None, "plain: possible in version 12. Programs without the field skip it."),
        ("zone: string, versions 19+", 18, 19, "plain: in version 19, which two programs use only if both have it."),
    ],
)
def test_an_effect_is_what_breaking_says(text, version, later, effect):
    [sentence] = effects_of(text, version, later)
    assert sentence.startswith(effect)


def test_one_sentence_is_about_all_versions_of_a_form():
    old = catalog().message("FetchRequest")
    new = overlay_of_field(old, "zone: string, tag").laid(old)
    pairs = [(Form("as is", old, version), Form("tagged", new, version)) for version in (12, 13, 15)]
    assert [*effects(pairs)] == ["tagged: possible in version 12-13, 15. Programs without the field skip it."]
