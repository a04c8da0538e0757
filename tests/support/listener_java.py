"""The modules of listener-java, which are scripts and no package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parents[2] / "listener-java"


def _load(name: str, file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


relocate = _load("relocate", "relocate.py")  # by this name build.py imports it
build = _load("listener_build", "build.py")  # there is another package `build`
