"""The price of a message's values in a form: they are written, and the bytes are read again for where they went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import construct

from kwire_cli.cost.forms.carrying import carried
from kwire_cli.cost.forms.cases import extreme
from kwire_cli.cost.forms.model import Form, Price
from kwire_cli.engine.spans import walk
from kwire_cli.errors import EncodeError

if TYPE_CHECKING:
    from kwire_cli.message.decoded import Decoded


def price(form: Form, value: Any) -> Price:
    """What the values cost in a form. They are in JSON form, records as base64 text; what cannot be written at all is a refusal."""
    fit = carried(form, value)
    try:
        data = written(form, extreme(form.layout, fit.value, form.case) if form.case else fit.value)
    except EncodeError as error:
        return Price(form, lost=fit.lost, filled=fit.filled, refusal=str(error))
    return Price(form, walk(form.entry, data), fit.lost, fit.filled)


def price_as_given(form: Form, decoded: Decoded) -> Price:
    """What the bytes of a decoded message are as they came: another encoder may write the same values in fewer."""
    return Price(form, decoded.raw)


def written(form: Form, value: Any) -> bytes:
    """The bytes of values that fit a form; EncodeError with the path where one does not."""
    try:
        return bytes(form.layout.build(value))
    except construct.ConstructError as error:
        raise EncodeError(str(error), value=value) from error
    except RecursionError:
        raise EncodeError("the value nests too deeply") from None
