"""The command line; the exit codes are in pysync.cli.app."""

from pysync.cli.app import main

__all__ = ["main"]
