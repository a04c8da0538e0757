"""Two sites with a metastore, a listener and a place for a sidecar each: what `pysync promote` exchanges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from pysync.base.jars import listener_jar
from pysync.config import load_config
from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.setup import listener_settings
from tests.support import wait_until
from tests.support.federation import Cluster
from tests.support.sidecars import pysync

_SECTIONS = """
[bridge]
port = {port}
token_file = "{directory}/token"
[queue]
directory = "{directory}/queue"
min_free_mb = 1
"""
FIRST = """
[source]
name = "{name}"
metastore = "{here.uri}"
[[targets]]
name = "{other}"
kind = "hms"
metastore = "{there.uri}"
databases = {{ shop = "dr_shop" }}
include = ["shop.*", "crm", {clients}]
locations = {{ "file:{here.directory}/hms/warehouse" = "file:{there.directory}/hms/warehouse" }}
max_drop_share = 0
{more}"""


class Site(Cluster):
    """A metastore with a listener, and the place of a sidecar."""

    def install(self, text: str) -> None:
        """Make this the pysync.toml, with the sections that the test's directories need."""
        self.file.write_text(text + _SECTIONS.format(port=self.bridge_port, directory=self.directory))

    def serve(self) -> EmbeddedMetastore:
        overrides = listener_settings(load_config(self.file), self.directory / "spool")
        return EmbeddedMetastore(
            self.directory / "hms", port=self.port, jars=[listener_jar()], overrides=overrides, name=self.here
        )

    def run(self) -> None:
        self.start()
        wait_until(self.answers, seconds=90, what=f"the sidecar of {self.here}")

    def command(self, *arguments: object, code: int = 0) -> str:
        done = pysync(*arguments, "-c", self.file, seconds=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def asked(self, *arguments: object, code: int = 0) -> dict[str, Any]:
        return json.loads(self.command(*arguments, "--json", code=code))

    def tables(self, database: str) -> dict[str, Any]:
        with closing(Metastore(self.uri)) as metastore:
            return {it.tableName: it for it in metastore.tables_by_name(database, metastore.tables(database))}

    def call(self, request: Any) -> None:
        with closing(Metastore(self.uri)) as metastore:
            metastore.call(request)

    def rest(self) -> None:
        """Wait until the target has everything."""

        def is_at_rest() -> bool:
            (target,) = self.status()["targets"]
            return target["queued"] == 0 and self.verified() == ""

        wait_until(is_at_rest, seconds=90, what=f"the target of {self.here}")

    def change(self, database: str, name: str, value: str | None = None) -> None:
        """Set a parameter of a table."""
        with closing(Metastore(self.uri)) as metastore:
            changed = metastore.table(database, name)
            changed.parameters["changed"] = value or self.here
            metastore.call(lambda client: client.alter_table(database, name, changed))


@contextmanager
def two_sites(directory: Path, fill: Callable[[str], None], more: str = "") -> Iterator[tuple[Site, Site]]:
    """`onprem`, filled, whose sidecar has filled `dr`; the latter's listener has a spool, but no sidecar yet.

    `more` are lines of the target.
    """
    onprem, dr = Site(directory, "onprem"), Site(directory, "dr")
    with ExitStack() as stack:
        clients = ", ".join(f'"load{number}"' for number in range(8))
        onprem.install(FIRST.format(name="onprem", other="dr", here=onprem, there=dr, more=more, clients=clients))
        dr.install(FIRST.format(name="dr", other="onprem", here=dr, there=onprem, more=more, clients=clients))
        for site in (onprem, dr):
            stack.enter_context(site.serve())
            stack.callback(site.kill)
        onprem.run()
        fill(onprem.uri)
        onprem.rest()
        yield onprem, dr
