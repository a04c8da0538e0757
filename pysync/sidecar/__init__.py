"""The sidecar process: wiring, status, commands, signals."""
