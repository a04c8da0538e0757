"""Set-up and removal: directories, token, pysync.toml, the systemd unit, and the listener in HMS."""

from pysync.setup.listener import LISTENER, listener_settings

__all__ = ["LISTENER", "listener_settings"]
