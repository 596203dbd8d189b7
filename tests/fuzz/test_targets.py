"""Every target of fuzzing on its seeds, on what once went wrong, and on a few mutations of both."""

import random

import pytest
import targets
from kit.commands import ACTS


@pytest.mark.parametrize("name", targets.TARGETS)
def test_no_seed_breaks_a_target(name):
    target, known = targets.TARGETS[name], targets.seeds(name)
    assert known
    for data in known:
        target(data)
    target(b"")
    dice = random.Random(name)
    for data in dice.choices(known, k=20):
        hurt = bytearray(data)
        for _ in range(dice.randint(1, 8)):
            if hurt:
                hurt[dice.randrange(len(hurt))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        target(bytes(hurt[: dice.randint(0, len(hurt))] if dice.random() < 0.3 else hurt))


def test_a_target_sees_what_acts_on_a_terminal():
    assert ACTS.search("\x9b".encode())
    assert not ACTS.search("é\n".encode())
