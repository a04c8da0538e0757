"""Which modules are mutated, and which tests are to notice it."""

from __future__ import annotations

from dataclasses import dataclass

_HISTORIES = "tests/mutation/test_histories.py"
_PROPERTIES = "tests/unit/test_properties.py"
_MEMORY = tuple(f"--harness=tests.conformance.harness_faulty:{it}" for it in ("FaultyHarness", "FaultyBothWaysHarness"))


@dataclass(frozen=True, slots=True)
class Part:
    """`modules` are paths or globs; `tests` are paths of tests; `options` are more arguments of pytest."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    options: tuple[str, ...] = ()


def _units(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/test_{name}.py" for name in names)


PARTS = {
    it.name: it
    for it in (
        Part(
            "fold",
            ("pysync/replay/window/fold.py",),
            (*_units("fold", "fold_both_ways", "fold_origins", "plan", "cascade"), _PROPERTIES, _HISTORIES),
        ),
        Part(
            "plan",
            ("pysync/replay/window/plan.py",),
            (
                *_units("plan", "fold_both_ways", "view_renaming", "refresh", "pins", "left_scope"),
                _PROPERTIES,
                _HISTORIES,
            ),
        ),
        Part(
            "policy",
            ("pysync/replay/window/policy.py", "pysync/replay/window/traits.py"),
            (*_units("policy", "policies", "where", "scope", "traits", "athena_policy", "draft"), _HISTORIES),
        ),
        Part(
            "mapping",
            ("pysync/replay/window/mapping.py",),
            (
                *_units("mapping", "catalogs", "policies", "renames", "rivals", "view_renaming", "waiting_names"),
                *_units("copy", "table_formats", "reencoder"),
                _HISTORIES,
            ),
        ),
        Part(
            "apply",
            ("pysync/targets/apply/*.py",),
            (
                *_units("home_rule", "ownership", "trash", "transactional", "door", "drops_keep_files"),
                *_units("both_ways_outcomes", "both_ways_constraints", "both_ways_races", "cascade"),
                # What only some stores can do, or cannot; and who asks which files may be copied.
                *_units("glue_renames", "glue_statistics", "glue_links", "glue_tables", "athena_operations", "copy"),
                *_units("data_versions"),
                "tests/conformance",
                _HISTORIES,
            ),
            # They have a target and metastores of their own.
            (*_MEMORY, "--ignore=tests/conformance/test_example.py", "--ignore=tests/conformance/test_outages.py"),
        ),
        Part(
            "pending",
            tuple(f"pysync/replay/{it}.py" for it in ("pending", "retries", "parking", "scheduler", "batch")),
            (
                *_units("drain", "drain_parking", "parked_retry", "parking", "pins", "lanes", "queue_parking"),
                *_units("brake_decisions", "refreshes", "resync_history"),
                _PROPERTIES,
                _HISTORIES,
            ),
        ),
        Part(
            "resync",
            ("pysync/resync/*.py",),
            (
                *_units(
                    "resync_job",
                    "resync_transactions",
                    "resync_views",
                    "resync_history",
                    "bootstrap",
                    "healing",
                    "left_scope",
                    "overlaps",
                    "refreshes",
                ),
                *_units(
                    "refresh_properties", "scope", "ranges", "reconfiguring", "disabled", "last_ids", "load_places"
                ),
                *_units("dump_load", "partition_filter"),
                _HISTORIES,
            ),
        ),
        Part(
            "queue",
            ("pysync/queue/*.py",),
            (
                *_units("queue", "queue_damage", "queue_damages", "queue_gaps", "queue_history", "queue_opening"),
                *_units("queue_parking", "queue_sequences", "queue_targets", "roll", "data_versions"),
                _HISTORIES,
            ),
        ),
    )
}
"""By name, in the order in which they are run. A module that moves needs no change but here."""
