"""The number of examples that a property is tested with."""

from hypothesis import settings

WHOLE = 100
"""Examples of a property that says nothing of them, in `make check`."""
FEWEST = 8


def examples(count, **others):
    """Test a property with `count` examples in `make check`, and with a quarter of them in `make test`, but with no
    fewer than 8 of them if there are so many.
    """
    quick = settings().max_examples
    return settings(max_examples=max(count * quick // WHOLE, min(count, FEWEST)), **others)
