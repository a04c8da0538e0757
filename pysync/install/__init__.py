"""Set-up and removal: directories, token, pysync.toml, the systemd unit, and the listener in HMS."""

from pysync.install.files import LISTENER, listener_jar, listener_settings

__all__ = ["LISTENER", "listener_jar", "listener_settings"]
