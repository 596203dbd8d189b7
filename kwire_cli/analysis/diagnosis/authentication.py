"""Clients that cannot log in: a refused password or token, or a mechanism that is not enabled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from kwire_cli.analysis.diagnosis.model import Bounded, Finding, FindingKind, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.calls import Call

FAILED = FindingKind(
    "AUTHENTICATION_FAILED",
    "error",
    "A broker refuses the credentials of a client.",
    "The user does not exist, or its password, token or certificate is not the one that the broker has.",
    "Compare the client's sasl.jaas.config with the users of the broker; the broker's log names the user.",
    ("KIP-152",),
    rank=10,
)
MECHANISM = FindingKind(
    "SASL_MECHANISM_REFUSED",
    "error",
    "A client asks for a SASL mechanism that the listener has not enabled.",
    "The client's sasl.mechanism is not among the mechanisms of the listener, which the broker's answer lists.",
    "Set sasl.mechanism of the client to one of the listener's mechanisms, or enable it in sasl.enabled.mechanisms.",
    ("KIP-43",),
    rank=10,
)


@dataclass
class _Failure:
    count: int = 0
    reason: str = ""
    evidence: Bounded = field(default_factory=Bounded)


class Authentication(Rule):
    """Failed logins by client, broker and mechanism."""

    KINDS = (FAILED, MECHANISM)
    apis: ClassVar[frozenset[str]] = frozenset({"SaslHandshake", "SaslAuthenticate"})

    def __init__(self) -> None:
        self._failures: dict[tuple[str, str, str], _Failure] = {}

    def call(self, call: Call) -> None:
        """Take a call of SaslHandshake or SaslAuthenticate."""
        response = call.response
        if not call.errors or response is None:
            return
        if call.api == "SaslHandshake":
            enabled = response.get("mechanisms")
            names = ", ".join(map(str, enabled)) if isinstance(enabled, list) and enabled else "none"
            wanted = call.request.get("mechanism")
            self._add(MECHANISM.code, call, f"it asked for {wanted}; the listener has {names}")
        else:
            message = response.get("errorMessage")
            self._add(FAILED.code, call, str(message or call.errors[0]).removeprefix("Authentication failed: "))

    def _add(self, code: str, call: Call, reason: str) -> None:
        failure = self._failures.setdefault((code, call.who, call.broker), _Failure())
        failure.count += 1
        failure.reason = reason
        failure.evidence.append(call.evidence())

    def merge(self, other: Authentication) -> None:
        for key, its in other._failures.items():
            own = self._failures.setdefault(key, _Failure())
            own.count += its.count
            own.reason = own.reason or its.reason
            own.evidence.merge(its.evidence)

    def findings(self) -> Iterator[Finding]:
        kinds = {kind.code: kind for kind in self.KINDS}
        for (code, who, broker), failure in self._failures.items():
            times = "1 login" if failure.count == 1 else f"{failure.count} logins"
            text = f"{times} at {broker} failed: {failure.reason}"
            yield Finding(kinds[code], f"client {who}", text, failure.evidence, failure.count)
