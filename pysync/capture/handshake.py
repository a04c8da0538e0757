"""How the two sides of the bridge prove to each other that they know the secret, which itself never travels.

    listener: PYSYNC-2 <its nonce>
    sidecar:  PYSYNC-2 <its nonce> <its proof>
    listener: <its proof>

A nonce is 32 random bytes, a proof an HMAC-SHA256 under the secret over what is proved and both nonces, all in hex. The
two sides prove different things, so that what one says is of no use to the other. The keys of the seals come the same
way.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass, field

VERSION = "PYSYNC-2"
NONCE_BYTES = 32

_HELLO = re.compile(rf"{VERSION} ([0-9a-f]{{{2 * NONCE_BYTES}}})")


class Unproven(ValueError):
    """The other side does not speak this protocol, or does not know the secret."""


@dataclass(frozen=True, slots=True)
class Keys:
    """What the two nonces and the secret give: proofs, and a key for each direction."""

    secret: bytes
    listener: str
    sidecar: str

    def proof_of_sidecar(self) -> str:
        """What only a sidecar with the secret can answer to the listener's nonce."""
        return self._of("sidecar proves").hex()

    def proof_of_listener(self) -> str:
        """What only a listener with the secret can answer to the sidecar's nonce."""
        return self._of("listener proves").hex()

    def from_listener(self) -> bytes:
        """The key of what the listener sends."""
        return self._of("listener sends")

    def from_sidecar(self) -> bytes:
        """The key of what the sidecar sends."""
        return self._of("sidecar sends")

    def _of(self, use: str) -> bytes:
        return hmac.digest(self.secret, f"{VERSION}\n{use}\n{self.listener}\n{self.sidecar}".encode(), "sha256")


@dataclass(frozen=True, slots=True)
class SidecarSide:
    """The sidecar's part of one handshake."""

    secret: bytes
    nonce: str = field(default_factory=lambda: secrets.token_hex(NONCE_BYTES))

    def answer(self, hello: str) -> tuple[str, Keys]:
        """The line that answers the listener's first one, and the keys if it proves itself. Raises Unproven."""
        match = _HELLO.fullmatch(hello)
        if match is None:
            raise Unproven("the caller sent no greeting")
        keys = Keys(self.secret, match[1], self.nonce)
        return f"{VERSION} {self.nonce} {keys.proof_of_sidecar()}", keys


def check(expected: str, proof: str) -> None:
    """Raises Unproven if the proof is another; takes as long wherever they differ."""
    if not hmac.compare_digest(expected.encode(), proof.encode("utf-8", "backslashreplace")):
        raise Unproven("the proof of the token is wrong")
