"""docs/groups.md on transactions: it names every column, event, finding and option."""

import re
from typing import get_args

from kit.commands import EVERYWHERE, ROOT

from kwire_cli.analysis.transactions.model import What
from kwire_cli.analysis.transactions.transactions import EVENTS, HELD_BACK, TRANSACTIONS
from kwire_cli.cli.transactions import command
from kwire_cli.questions.rule_files import rules

PAGE = ROOT / "docs" / "groups.md"


def test_the_page_names_all_columns_events_and_findings():
    named = {*re.findall(r"`([\w]+)`", PAGE.read_text("utf-8"))}
    columns = {column.name for column in (*TRANSACTIONS, *EVENTS, *HELD_BACK)}
    of_producers = {
        "SMALL_BATCHES",
        "COMPRESSION_NOT_PAYING",
        "ABORTED_TRANSACTIONS",
        "CONCURRENT_TRANSACTIONS_LOOP",
        "HANGING_TRANSACTION",
        "LONG_TRANSACTION",
        "OFFSETS_NOT_STABLE",
        "OPEN_TRANSACTION",
        "ACKS_0",
        "DUPLICATE_BATCH",
        "FENCED_PRODUCER",
        "MESSAGE_TOO_LARGE",
        "SEQUENCE_GAP",
    }
    codes = of_producers & {rule.code for rule in rules()}
    assert {*columns, *codes, *get_args(What)} - named == set()


def test_every_option_is_on_the_page():
    text = PAGE.read_text("utf-8")
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("--")} - EVERYWHERE
    own = {"--transactional-id", "--open"}
    assert own <= options
    assert own == {name for name in own if name in text}
