"""A host in a directory: where `pysync init` shall put things, and what it finds there."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass, field
from pathlib import Path

from pysync.setup.conf_files import shipped
from pysync.setup.config_text import ConfigValues, config_text
from pysync.setup.plan import InstallPlaces, InstallPlan, plan
from tests.support.hive_sites import EMR

ME = pwd.getpwuid(os.geteuid()).pw_name
NOBODY = 65534


@dataclass(slots=True)
class Host:
    """`etc`, `var`, `units`, `conf/hive-site.xml` and `lib` of a host; the last three are there before."""

    root: Path
    etc: Path = field(init=False)
    var: Path = field(init=False)
    units: Path = field(init=False)
    site: Path = field(init=False)
    lib: Path = field(init=False)

    def __post_init__(self) -> None:
        self.etc, self.var = self.root / "etc", self.root / "var"
        self.units, self.site, self.lib = self.root / "units", self.root / "conf" / "hive-site.xml", self.root / "lib"
        for directory in (self.units, self.site.parent, self.lib):
            directory.mkdir()
        self.site.write_text(EMR)
        self.site.chmod(0o640)
        (self.lib / "hive-exec.jar").write_bytes(b"PK")

    @property
    def places(self) -> InstallPlaces:
        return InstallPlaces(self.etc, None, self.units, self.site, self.lib)

    def text(self, name: str = "east") -> str:
        """A pysync.toml for it, to a metastore that is not there."""
        sections = {
            "source": {"name": name, "metastore": "thrift://127.0.0.1:9"},
            "bridge": {"token_file": str(self.etc / "token")},
            "queue": {"directory": str(self.var)},
        }
        return config_text(
            shipped("pysync.toml"), ConfigValues("hms", sections, {"name": "dr", "metastore": "thrift://b:1"})
        )

    def plan(self, places: InstallPlaces | None = None, text: str | None = None, user: str = ME) -> InstallPlan:
        """What `pysync init` would do; the executable is one that everybody may run."""
        return plan(places or self.places, user, self.text() if text is None else text, Path("/bin/true"))

    def init(self, places: InstallPlaces | None = None, text: str | None = None, user: str = ME) -> InstallPlan:
        """Do it."""
        found = self.plan(places, text, user)
        assert found.problems == ()
        for step in found.steps:
            step.apply()
        return found

    def options(self) -> list[str]:
        """The same as options of the command."""
        found = {"user": ME, "config-dir": self.etc, "state-dir": self.var, "unit-dir": self.units}
        found |= {"merge-hive-site": self.site, "hive-lib": self.lib}
        return [f"--{key}={value}" for key, value in found.items()]

    def tree(self) -> dict[str, tuple[str, int, int, bytes]]:
        """Everything in it: what it is, mode, owner, content."""
        return {str(it.relative_to(self.root)): _seen(it) for it in sorted(self.root.rglob("*"))}


def states(found: InstallPlan) -> dict[str, str]:
    """By the last part of each path."""
    return {step.path.name: step.state() for step in found.steps}


def _seen(path: Path) -> tuple[str, int, int, bytes]:
    found = path.lstat()
    kind = "link" if path.is_symlink() else "directory" if path.is_dir() else "file"
    return kind, stat.S_IMODE(found.st_mode), found.st_uid, path.read_bytes() if kind == "file" else b""
