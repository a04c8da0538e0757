"""Install: what a person does once: directories, token, pysync.toml, the service, and the listener in HMS; and back."""

from pysync.install.listener import LISTENER, listener_jar, listener_settings

__all__ = ["LISTENER", "listener_jar", "listener_settings"]
