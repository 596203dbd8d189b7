"""How `kwire explain` prints: lines for eyes, long or short, or JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire_cli.cli.environment import Environment
    from kwire_cli.explain.model import Event
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.explain import Shown
    from kwire_cli.view.lines import Line

FORMATS = ("text", "json", "jsonl")


@dataclass
class Output:
    """The format, and what was said already in this run: rules are said once."""

    fmt: str
    short: bool
    shown: Shown | None = None
    rules: set[str] = field(default_factory=set)

    def show(
        self, environment: Environment, catalog: Catalog, events: Iterable[Event], title: Line | None = None, document: dict[str, Any] | None = None
    ) -> None:
        """Print one explanation; `title` stands above it, `document` has the same for programs."""
        if self.fmt == "text":
            self._lines(environment, catalog, events, title)
            return
        from kwire_cli.view.explain_json import explanation_objects
        from kwire_cli.view.json import dumps

        if self.fmt == "jsonl":
            if document:
                environment.write(dumps(document, indent=False))
            for each in explanation_objects(catalog, events, self.rules):
                environment.write(dumps(each, indent=False))
            return
        rules: list[dict[str, Any]] = []
        steps: list[dict[str, Any]] = []
        for each in explanation_objects(catalog, events, set()):  # a document stands for itself
            (rules if "rule" in each else steps).append(each)
        environment.write(dumps({**(document or {}), "explanation": steps, "rules": rules}, indent=True))

    def _lines(self, environment: Environment, catalog: Catalog, events: Iterable[Event], title: Line | None) -> None:
        from kwire_cli.view.explain import Shown, explanation_lines
        from kwire_cli.view.lines import without_control

        first = self.shown is None
        self.shown = self.shown or Shown()
        if not first:
            environment.write("")
        if title:
            environment.write_lines([without_control(title)])
        lines = explanation_lines(catalog, events, short=self.short, shown=self.shown)
        environment.write_lines(lines if title else _without_blank(lines))


def _without_blank(lines: Iterable[Line]) -> Iterable[Line]:
    """Without the empty line that stands before a part, where nothing stands before that."""
    rest = iter(lines)
    for line in rest:
        if line:
            yield line
        yield from rest


def with_explanation(command: Callable[..., Any]) -> Callable[..., Any]:
    """--format and --short; the command gets an `output`."""

    @click.option("--format", "-f", "fmt", type=click.Choice(FORMATS), default="text", show_default=True, help="Set the output format.")
    @click.option("--short", is_flag=True, help="Show one line per field, without the rules.")
    @wraps(command)
    def wrapped(*args: Any, fmt: str, short: bool, **kwargs: Any) -> Any:
        if short and fmt != "text":
            raise click.UsageError(f"--short is for text, and --format {fmt} shows everything")
        return command(*args, output=Output(fmt, short), **kwargs)

    return wrapped
