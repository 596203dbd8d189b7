"""What is wrong with a definition, and where: findings, and the report that reading and rules write them into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from kwire_cli.spec.jsontext import JsonText

Severity = Literal["error", "warning", "advice"]


class Finding(NamedTuple):
    """One violation of a rule, or advice. `line` and `column` count from 1; `path` names the place in the definition, as in Topics.Name.tag."""

    rule: str
    severity: Severity
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    path: str | None = None


class Spot(NamedTuple):
    """A place in a definition: `keys` leads to it through the JSON, `path` names it for people."""

    keys: tuple[str | int, ...] = ()
    path: str = ""

    def key(self, name: str) -> Spot:
        """The place of one key of the object here."""
        return Spot((*self.keys, name), f"{self.path}.{name}" if self.path else name)

    def item(self, key: str, index: int, name: str) -> Spot:
        """The place of an item of the list under `key`; `name` is the item's own, if it has one."""
        name = name or f"{key}[{index}]"
        return Spot((*self.keys, key, index), f"{self.path}.{name}" if self.path else name)


class Report:
    """Collects findings of one definition; `text` gives their lines and columns where the definition was read from text."""

    def __init__(self, file: str | None = None, text: JsonText | None = None) -> None:
        self.file, self.text = file, text
        self.findings: list[Finding] = []

    def add(self, rule: str, message: str, spot: Spot, *, warning: bool = False) -> None:
        """Note a violation at `spot`; its line and column are those of the nearest thing that is really there."""
        line = column = None
        if self.text:
            line, column = self.text.nearest(spot.keys)
        self.findings.append(Finding(rule, "warning" if warning else "error", message, self.file, line, column, spot.path or None))
