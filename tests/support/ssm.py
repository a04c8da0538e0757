"""Rules of SSM's hms-sync, as its article has them, and what `pysync import-rule` makes of a text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pysync.config import Config, load_config
from pysync.setup.rule_config import Imported, import_rules
from pysync.setup.rule_text import Text

PLAIN = 'hms: name matches "test_db.*" | hms-sync -dest thrift://ka-adh-1.ru-central1.internal:9083'
FULL = (
    'hms : name matches "test_db.*" | hms-sync -dest thrift://ka-adh2-3.ru-central1.internal:9083 -cascade '
    '-nameservice_rename "adh1 adh2"'
)

Load = Callable[..., tuple[Imported, Config]]
NO_SOURCE = "hms-sync finds the source in the settings of SSM: set [source] metastore."


def importing(directory: Path) -> Load:
    """A function that imports a text and loads what comes of it from a file in the directory."""

    def build(text: str, source: str = "onprem") -> tuple[Imported, Config]:
        found, conf = import_rules(Text(text), source), directory / "pysync.toml"
        conf.write_text(found.text, encoding="utf-8")
        return found, load_config(conf)

    return build
