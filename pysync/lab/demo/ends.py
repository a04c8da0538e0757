"""Both ends of the demo compared, in a process of its own where the target needs a Spark: a process has one of those.

`python -m pysync.lab.demo.ends METASTORE CONFIG SOURCE` prints what `compared` gives as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

from pysync.base.errors import PysyncError
from pysync.config import load_config
from pysync.metastore.client import Metastore
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.verify.compare import ComparedObject, Comparison

_LONGEST_SECONDS = 300


def compared(source: str, settings: TargetSettings, name: str) -> list[ComparedObject]:
    """The metastore at `source`, called `name`, and the target of these settings, compared as they say."""
    opened = partial(target_kind(settings.kind).open, settings)
    return list(Comparison(partial(Metastore, source), opened, settings, name, threads=1).run())


def compared_apart(source: str, config: Path, name: str) -> list[ComparedObject]:
    """The same for the one target of this configuration. Raises PysyncError when it does not run."""
    command = [sys.executable, "-m", __name__, source, str(config), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_SECONDS, check=False)
    if done.returncode:
        raise PysyncError("cannot compare source and target", f"the end of its output: {done.stderr.strip()[-500:]}")
    items = json.loads(done.stdout.splitlines()[-1])
    return [ComparedObject(**{**item, "fields": tuple(item["fields"])}) for item in items]


def main(source: str, config: str, name: str) -> None:
    """Print what is found."""
    differences = compared(source, load_config(Path(config)).targets[0], name)
    sys.stdout.write(json.dumps([asdict(item) for item in differences]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
