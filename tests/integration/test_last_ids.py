"""`last_id_every` with a real metastore, which is source and target, with a notification log in front of it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.model.definition import LAST_ID_KEY
from tests.integration.test_capture_by_log import LogPlace
from tests.support import new_database, table, wait_until
from tests.support.logged import LoggedMetastore
from tests.support.notifications import row
from tests.support.sidecars import sidecar


class HmsPlace(LogPlace):
    """Its target is the metastore at `metastore`, where databases are called `dr_…`."""

    metastore = ""

    def target(self) -> str:
        renamed = f'include = ["{self.include}"]\ndatabases = {{ "*" = "dr_*" }}'
        return f'name = "dr"\nkind = "hms"\nmetastore = "{self.metastore}"\nlast_id_every = "1s"\n{renamed}'


def last_id(metastore: Metastore, name: str) -> int:
    found = metastore.database(name)
    return int((found.parameters or {}).get(LAST_ID_KEY, 0)) if found is not None else 0


def test_a_job_finds_its_table_once_the_database_tells_the_id(
    tmp_path: Path, shared_metastore: EmbeddedMetastore
) -> None:
    place = HmsPlace(tmp_path)
    place.metastore = shared_metastore.uri
    with closing(LoggedMetastore(place.metastore, 7)) as logged, Metastore(place.metastore) as metastore:
        database = new_database(metastore)
        there = f"dr_{database}"
        place.only(database)
        place.polled(logged.uri)
        with sidecar(place):
            wait_until(lambda: last_id(metastore, there) >= 7, seconds=120, what="the first id")
            for name in ("t", "u"):
                metastore.call(lambda client, it=name: client.create_table(table(database, it)))
                at = logged.log.current() + 1
                # Of a message that cannot be read the table is read at the source.
                logged.log.rows.append(row(at, kind="CREATE_TABLE", database=database, table=name, message="?"))
                wait_until(lambda wanted=at: last_id(metastore, there) >= wanted, seconds=120, what=f"the id {at}")
                assert metastore.table(there, name) is not None
