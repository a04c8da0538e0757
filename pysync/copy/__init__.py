"""Copying data files with Spark: compared first, then only what differs, and never half a file for a reader."""
