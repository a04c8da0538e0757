"""The sidecar process: wiring, signals, health, and the socket on which it answers the command line."""
