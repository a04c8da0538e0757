"""pysync.toml as a file that commands change: its comments and its layout stay, and nobody's edit is lost."""
