"""`kwire compare --paper`: a source document's own numbers beside those that kwire measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cli.environment import Exit

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog


def show_paper(environment: Environment, catalog: Catalog, name: str, fmt: str, *, times: bool | None = None) -> Exit:
    """Print one of `cost.papers.PAPERS`, whose numbers are measured for it: `fmt` is table, json, jsonl, or csv with a row a claim."""
    from kwire_cli.cost.papers import paper

    found = paper(name, catalog, times=times)
    if fmt == "csv":
        from kwire_cli.view.papers import CSV, claim_cells

        environment.write_csv(CSV)
        for claim in found.claims:
            environment.write_csv(claim_cells(claim))
    elif fmt in {"json", "jsonl"}:
        from kwire_cli.view.json import dumps

        environment.write(dumps(found.to_json(), indent=fmt == "json"))
    else:
        from kwire_cli.view.papers import paper_lines

        environment.write_lines(paper_lines(found))
    return Exit.DONE
