"""The command line. Exit codes: 0 done, 1 the world is not as it should be, 2 wrong configuration or arguments."""

from pysync.cli.app import main

__all__ = ["main"]
