"""In which world each command line of README.md and docs/*.md is run, or why it is not.

Put a new one into the group whose world it needs, or into LEFT_OUT: as `page: command`, as `page: first words *`, or
the whole section as `page#anchor`.
"""

from __future__ import annotations

from tests.support.docpages import Shown, everything_shown

SUBSTITUTES = {
    "/etc/pysync/": "etc",
    "/etc/hive/conf/": "etc",
    "/mnt/disk/": "disk",
    "hdfs://adh1": "nameservice",
    "/var/lib/pysync": "state",
    "48213": "position",
    "7d1f8c52-3a0e-4c53-9d0e-5f3a1c2b4d6e": "instance",
    "my_package.harness:MyHarness": "harness",
}
"""What the pages say, and which of a world's `places` stands for it, where the world has that."""

KEYS = {"status.md: pysync status --json": "pysync-status---json", "verify.md": "json-junit-and-html"}
KEYS |= {
    "targets.md: pysync target show dr --json": "",
    "targets.md: pysync target set dr lanes=6 --json": "",
    "targets.md: pysync target set dr lanes=7 --dry-run --json": "",
    "status.md: pysync status dr --object sales --json": "where-a-table-or-database-is---object",
    "verify.md: pysync wait sales --json": "pysync-wait---json",
    "status.md: pysync why sales.orders --target dr --json": "pysync-why---json",
    "status.md: pysync tables --database 'sales*' --name order --target dr --json": "pysync-tables---json",
    "status.md: pysync actions --database sales --limit 20 --json": "pysync-actions---json",
}
"""Where the keys of a command's JSON are, if not in the section that shows the command."""

RUNNING = """
scope.md: pysync policy test sales.orders
scope.md: pysync policy test sales.orders sales.tmp_1 --location hdfs://adh1/warehouse/sales.db/orders --json
scope.md: pysync policy test sales.orders --type EXTERNAL_TABLE --parameter owner=bi
status.md: pysync status
status.md: pysync status dr
status.md: pysync status --json
status.md: pysync status dr --json
status.md: pysync status --object sales.orders
status.md: pysync status dr --object sales --json
verify.md: pysync wait sales.orders --target dr --timeout 2m
verify.md: pysync wait sales --json
verify.md: pysync wait sales --consistent --pin 30s -- true
status.md: pysync events --limit 20 --json
status.md: pysync events --since 48213 --json
status.md: pysync events --table sales.orders --json
status.md: pysync replay dr --from 2h --dry-run --json
status.md: pysync replay dr --from 48213 --json
operating.md: pysync replay dr --from 2h --dry-run
operating.md: pysync replay dr --from 2h
status.md: pysync trash list dr --json
status.md: pysync listener remove 7d1f8c52-3a0e-4c53-9d0e-5f3a1c2b4d6e --json
status.md: pysync why sales.orders
status.md: pysync why sales.orders --target dr --json
status.md: pysync tables
status.md: pysync tables --state parked
status.md: pysync tables --database 'sales*' --name order --target dr --json
status.md: pysync actions
status.md: pysync actions --outcome parked --since 1d
status.md: pysync actions --database sales --limit 20 --json
failures.md: pysync status
operating.md: pysync status
failures.md: pysync status dr
failures.md: pysync why sales.orders
failures.md: pysync check
operating.md: pysync check
failures.md: pysync listener remove 7d1f8c52-3a0e-4c53-9d0e-5f3a1c2b4d6e
failures.md: pysync verify --target dr
operating.md: pysync reload
scope.md: pysync reload
status.md: pysync reload --json
verify.md: pysync verify
verify.md: pysync verify --target dr sales crm.customers
verify.md: pysync verify --json --junit verify.xml
verify.md: pysync verify --html verify.html
monitoring.md: pysync monitoring --out monitoring
monitoring.md: pysync monitoring --out linked --runbook https://docs.example.com/failures.html --page https://pysync.example.com/
"""
"""Beside a running sidecar that is at rest."""

WAITING = """
brake.md: pysync held list dr
brake.md: pysync kept list dr
failures.md: pysync resume dr
status.md: pysync plan --json
status.md: pysync plan --target dr --json
"""
"""The same, with an event that waits for dr."""

PARKED = """
failures.md: pysync parked list dr
failures.md: pysync parked show dr 48213
failures.md: pysync parked retry dr
failures.md: pysync parked retry dr --table 'sales.*'
failures.md: pysync parked retry dr --reason 'exists at the target'
failures.md: pysync parked skip dr 48213 --yes
failures.md: pysync parked adopt dr --table 'sales.*' --yes
status.md: pysync parked list dr --json
status.md: pysync parked show dr 48213 --json
status.md: pysync parked retry dr --json
status.md: pysync parked skip dr 48213 --yes --json
status.md: pysync parked adopt dr --table 'sales.*' --yes --json
"""
"""The same, with an event that dr refuses."""

DRIFTED = """
failures.md: pysync verify --target dr --repair
verify.md: pysync verify --repair
"""
"""The same, with a table that is missing at dr."""

RESCOPED = """
scope.md: pysync plan --scope
scope.md: pysync plan --scope --json
scope.md: pysync plan --scope --target dr --json
"""
"""The same, with another `include` in pysync.toml than the sidecar runs with."""

RELOADED = """
scope.md: pysync status
"""
"""A sidecar that was reloaded with another `include`."""

ALONE = """
targets.md: pysync bootstrap
targets.md: pysync bootstrap --target dr
security.md: pysync check
versions.md: pysync check
status.md: pysync target rename dr standby --json
status.md: pysync target remove dr --yes --json
"""
"""No sidecar runs; source and target are there, and the source has a notification log."""

CHANGED = """
targets.md#targets-add-fill-change-rename-and-remove-them
targets.md#a-new-policy-in-place-of-an-old-one
targets.md#pysync-target-list---json
"""
"""Sections whose commands are run one after the other, on a pysync.toml with dr; no sidecar runs."""

CARRIED = """
dump.md#dump-and-load-clusters-that-cannot-see-each-other
dump.md#a-worked-example
dump.md#repl-by-example
"""
"""Blocks whose commands are run one after the other, between two metastores that cannot see each other."""

NOTHING = """
failures.md: df -h /var/lib/pysync
failures.md: openssl x509 -noout -subject -enddate -in /etc/pysync/ca.pem
coming-from.md: pysync import-rule *
security.md: pysync token /etc/pysync/token
monitoring.md: pysync token /var/lib/pysync/api-token
testing.md: python -m tests.simulation --topology one-way --seed 775
"""
"""They need files only."""

SPARK = """
copy.md: pysync copy --dry-run
copy.md: pysync copy
copy.md: pysync copy sales.orders --delete
verify.md: pysync verify --data
verify.md: pysync verify --data --repair sales
"""
"""Beside a running sidecar whose target has `copy = true`."""

SPARK_CARRIED = """
dump.md#data-files
"""

LONG = """
contributing.md: pytest tests/conformance --harness my_package.harness:MyHarness
aws.md: pysync demo --target athena
copy.md: pysync demo --copy
"""
"""They bring their own servers."""

ATHENA = """
aws.md: pysync check
aws.md: pysync views
aws.md: pysync views --target lake --json
"""
"""With an Athena on this machine."""

UNTIL_INTERRUPTED = """
aws.md: pysync embedded --aws
"""

LEFT_OUT = {
    "brake.md#give-a-dropped-database-back-to-the-source": "tests/integration/test_dropped_database.py",
    "brake.md: pysync held keep *": "it needs drops that are held: tests/integration/test_plan_cli.py",
    "brake.md: pysync held drop *": "it needs drops that are held: tests/integration/test_plan_cli.py",
    "brake.md: pysync kept release *": "it needs what was kept: tests/integration/test_plan_cli.py",
    "README.md#set-it-up": "tests/readme runs it, on a machine of its own",
    "contributing.md: pip *": "it needs a release; tests/unit/test_release_contents.py looks at its files",
    "install.md: docker *": "it needs an engine; make test SUITE=container builds and runs the same",
    "install.md: kubectl *": "it needs a cluster; make test SUITE=container runs the same pod",
    "install.md#set-up": "tests/readme runs the same, and tests/integration/test_init_end_to_end.py",
    "install.md#uninstall": "tests/integration/test_init_end_to_end.py",
    "monitoring.md: pip *": "the extra is there",
    "monitoring.md: pysync web-password *": "it asks for a password; tests/unit/test_page_passwords.py",
    "operating.md#keep-dropped-tables-for-a-while": "it needs dropped tables; tests/integration/test_trash.py",
    "operating.md#upgrade": "it needs systemd and another release; the commands are those of the set-up",
    "operating.md#downgrade": "it needs systemd, and another release, of which there is none",
    "operating.md#without-a-queue": "it needs systemd; tests/crash/test_restored_queue.py does the same",
    "operating.md#planned": "tests/integration/test_promote.py goes both ways with two sidecars",
    "failures.md: journalctl *": "it needs systemd",
    "failures.md: systemctl status pysync": "it needs systemd",
    "install.md#quickstart-two-replications-on-your-machine": "tests/readme runs it as a whole",
    "aws.md: export *": "the environment of make test SUITE=aws",
    "aws.md: make test SUITE=aws": "it needs an AWS account",
    "contributing.md: make *": "they run these tests",
    "coming-from.md: pysync init --from-agent *": "it changes the machine; tests/integration/test_init_cli.py",
    "coming-from.md: make compare-agents *": "it needs the jars of AWS's agents",
    "security.md: KRB5_TRACE=/dev/stderr pysync check": "it needs a KDC: tests/versions/test_kerberos.py",
    "security.md: ssh *": "it needs another host with sshd",
    "testing.md: make simulate *": "long; the same program with one seed is run here",
    "testing.md: make simulate": "long; the same program with one seed is run here",
}
GROUPS = (
    *(RUNNING, WAITING, PARKED, DRIFTED, RESCOPED, RELOADED, ALONE, CHANGED, CARRIED, NOTHING, SPARK, SPARK_CARRIED),
    *(ATHENA, UNTIL_INTERRUPTED, LONG, "\n".join(["", *LEFT_OUT, ""])),
)
NAMED = [(it.name, it) for it in everything_shown()]


def entries(group: str) -> list[str]:
    """The lines of a group."""
    return group.split("\n")[1:-1]


def of(entry: str) -> list[Shown]:
    """The command lines that an entry of a group stands for."""
    if entry.endswith(" *"):
        return [it for name, it in NAMED if name.startswith(entry[:-1])]
    return [it for name, it in NAMED if entry in (name, f"{it.page}#{it.section}")]
