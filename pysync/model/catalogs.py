"""Catalogs of Hive 3 and later: how names of databases say their catalog, and objects whose names do.

A database of another catalog than `hive` has its catalog in its name, `@spark#sales`, as Hive's own clients write it
(MetaStoreUtils.prependCatalogToDbName). So a name of a database is unique in a metastore, and nothing but events and
the metastore's client has to know of catalogs. No database can have such a name in the catalog `hive`. The structs of
the metastore's IDL have the catalog in a field of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from functools import wraps
from typing import Any

from hmsclient.genthrift.hive_metastore import ThriftHiveMetastore
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model import idl
from pysync.model.names import is_default_catalog, normalized

_QUALIFIED = re.compile(r"@([^#]+)#(.*)", re.DOTALL)

_CONSTRAINT = ("catName", ("table_db",))
_REQUEST = ("catName", ("dbName",))
_FIELDS: Mapping[type, tuple[str, tuple[str, ...]]] = {
    hive.Database: ("catalogName", ("name",)),
    **dict.fromkeys((hive.Table, hive.Partition, hive.Function), _REQUEST),
    hive.SQLForeignKey: ("catName", ("fktable_db", "pktable_db")),
    **dict.fromkeys((hive.SQLPrimaryKey, *idl.CONSTRAINTS), _CONSTRAINT),
    **dict.fromkeys((hive.GetTableRequest, hive.GetTablesRequest, hive.AddPartitionsRequest), _REQUEST),
    **dict.fromkeys((hive.DropPartitionsRequest, hive.TableStatsRequest, hive.PartitionsStatsRequest), _REQUEST),
    hive.ColumnStatisticsDesc: _REQUEST,
    hive.DropConstraintRequest: ("catName", ("dbname",)),
    hive.PrimaryKeysRequest: ("catName", ("db_name",)),
    hive.ForeignKeysRequest: ("catName", ("foreign_db_name", "parent_db_name")),
    idl.ConstraintsRequest: ("catName", ("db_name",)),
    idl.CreationMetadata: _REQUEST,
}
"""By struct: the field of the catalog, and those of names of databases."""

_PARTS: Mapping[type, str] = {
    hive.GetTableResult: "table",
    hive.GetTablesResult: "tables",
    hive.Table: "creationMetadata",
    hive.AddPartitionsRequest: "parts",
    hive.AddPartitionsResult: "partitions",
    hive.PrimaryKeysResponse: "primaryKeys",
    hive.ForeignKeysResponse: "foreignKeys",
    hive.AddPrimaryKeyRequest: "primaryKeyCols",
    hive.AddForeignKeyRequest: "foreignKeyCols",
    hive.SetPartitionsStatsRequest: "colStats",
    hive.ColumnStatistics: "statsDesc",
    **dict.fromkeys(map(type, (idl.constraint_request(kind, []) for kind in idl.CONSTRAINTS)), "columns"),
}
"""By struct: the field with structs that have names of databases, too."""

_NEED_CATALOG = frozenset({*idl.CONSTRAINTS, idl.ConstraintsRequest, idl.CreationMetadata})
"""The structs in which a metastore requires the catalog."""

_KNOWN = frozenset({*_FIELDS, *_PARTS})


def catalog_of(database: str) -> str | None:
    """The catalog in the name of a database; None for one of the catalog `hive`."""
    match = _QUALIFIED.fullmatch(database) if database.startswith("@") else None
    return match[1] if match else None


def name_in_catalog(database: str) -> str:
    """The name of a database within its catalog."""
    match = _QUALIFIED.fullmatch(database) if database.startswith("@") else None
    return match[2] if match else database


def database_in(catalog: str | None, database: str) -> str:
    """The name of a database of a catalog; a name that says its catalog stays as it is."""
    if is_default_catalog(catalog) or not database or catalog_of(database) is not None:
        return database
    return f"@{normalized(catalog or '')}#{database}"


def is_default_database(database: str) -> bool:
    """Whether it is the database `default` of its catalog, which every metastore has by itself."""
    return name_in_catalog(database) == "default"


def qualify(item: Any, catalog: str | None = None) -> Any:
    """Put the catalog of an object, or of each in a list, into its names, in place; returns it.

    `catalog` is that of an object which does not say its own.
    """
    if isinstance(item, list):
        for it in item:
            qualify(it, catalog)
        return item
    kind = type(item)
    if kind in _FIELDS:
        field, names = _FIELDS[kind]
        own = vars(item).pop(field, None) or catalog
        if kind in _NEED_CATALOG:
            setattr(item, field, idl.CATALOG)
        if not is_default_catalog(own):
            _set_fields(item, {name: database_in(own, value) for name in names if (value := getattr(item, name))})
    if kind in _PARTS:
        qualify(getattr(item, _PARTS[kind]), catalog)
    return item


def unqualified(item: Any) -> Any:
    """The object or request, or list of them, as a metastore takes it: with the catalog in a field of its own.

    A copy if anything differs; else the very same.
    """
    if isinstance(item, list):
        items = [unqualified(it) for it in item] if item and type(item[0]) in _KNOWN else item
        return items if any(one is not other for one, other in zip(items, item, strict=True)) else item
    kind = type(item)
    changed = _unqualified_names(item, *_FIELDS[kind]) if kind in _FIELDS else {}
    if kind in _PARTS:
        inner = getattr(item, _PARTS[kind])
        plain = unqualified(inner)
        changed |= {} if plain is inner else {_PARTS[kind]: plain}
    return _set_fields(copy(item), changed) if changed else item


def _unqualified_names(item: Any, field: str, names: tuple[str, ...]) -> dict[str, Any]:
    """The fields of an object of another catalog than `hive` that a metastore takes in another form."""
    databases = {name: value for name in names if (value := getattr(item, name))}
    catalog = next(filter(None, map(catalog_of, databases.values())), None)
    if catalog is None:
        return {}
    return {field: catalog, **{name: name_in_catalog(value) for name, value in databases.items()}}


def _set_fields(item: Any, values: Mapping[str, Any]) -> Any:
    for name, value in values.items():
        setattr(item, name, value)
    return item


def _in_catalogs(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(client: Any, *arguments: Any) -> Any:
        return qualify(method(client, *map(unqualified, arguments)))

    return call


class CatalogClient(idl.Client):
    """A client whose requests and answers have the catalog in the names of databases.

    A call that takes the name of a database by itself sends it as it is: Hive 3 and later read `@spark#sales`.
    """


def _add_methods() -> None:
    constraints = [f"{verb}_{name}" for name, _ in idl.CONSTRAINTS.values() for verb in ("add", "get")]
    adds = [it for it in constraints if it.startswith("add_")]
    gets = [f"{it}s" for it in constraints if it.startswith("get_")]
    plain = [it for it in vars(ThriftHiveMetastore.Iface) if not it.startswith("_")]
    for name in (*plain, *adds, *gets, "update_creation_metadata"):
        setattr(CatalogClient, name, _in_catalogs(getattr(idl.Client, name)))


_add_methods()
