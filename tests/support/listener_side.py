"""The listener's part of the bridge's handshake, as the listener in Java has it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from pysync.capture.handshake import NONCE_BYTES, VERSION, Keys, Unproven, check


@dataclass(frozen=True, slots=True)
class ListenerSide:
    """One handshake of a listener that knows the secret."""

    secret: bytes
    nonce: str = field(default_factory=lambda: secrets.token_hex(NONCE_BYTES))

    def hello(self) -> str:
        """The first line."""
        return f"{VERSION} {self.nonce}"

    def keys(self, answer: str) -> Keys:
        """The keys, once the sidecar's line has proved it. Raises Unproven."""
        try:
            version, nonce, proof = answer.split(" ")
        except ValueError:
            raise Unproven("the caller did not answer the greeting") from None
        if version != VERSION:
            raise Unproven("the caller did not answer the greeting")
        keys = Keys(self.secret, self.nonce, nonce)
        check(keys.proof_of_sidecar(), proof)
        return keys
