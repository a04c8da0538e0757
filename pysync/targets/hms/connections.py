"""The connections to one metastore: one for each user who writes there, as a connection keeps its user."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pysync.metastore.client import Metastore
from pysync.targets.settings import TargetSettings


class Connections:
    """The connections by user. `connect` makes one for calls as that user (None: no particular one)."""

    def __init__(self, settings: TargetSettings, connect: Callable[[str | None], Metastore]) -> None:
        self._settings = settings
        self._connect = connect
        self._open: dict[str | None, Metastore] = {}
        self.are_swept = False
        """Whether functions that a crash has left (pysync.model.reread) were removed."""
        self._on_call: Callable[[str], object] | None = None

    def of(self, visited: Sequence[str]) -> Metastore:
        """The connection for writing what has been to these clusters; for reading if there are none."""
        user = self._settings.user_for(visited)
        if user not in self._open:
            self._open[user] = self._connect(user)
            self._open[user].on_call = self._on_call
        return self._open[user]

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each call that is sent from now on, by any user. For before the first."""
        self._on_call = on_call
        for metastore in self._open.values():
            metastore.on_call = on_call

    def known_by(self) -> str:
        """How the listener there distinguishes our calls from others'. Raises what reading the databases does."""
        some = (self._settings.name,)
        if not self._settings.both_ways:
            return ""
        if self._settings.user_for(some) is None:
            return "; its sidecar must have the login of pysync in [source] replicators"
        self.of(some).databases()
        return "; it accepts the user name of pysync"

    def close(self) -> None:
        """Close all of them; the next call opens one again."""
        for metastore in self._open.values():
            metastore.close()
