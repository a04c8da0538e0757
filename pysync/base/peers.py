"""Peers: who is at the other end of a Unix socket, by the kernel."""

from __future__ import annotations

import socket
import struct

_CREDENTIALS = struct.Struct("3i")  # Linux's struct ucred: process, user, group


def peer_user(connection: socket.socket) -> int:
    """The id of the user whose process has connected."""
    _, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return int(user)
