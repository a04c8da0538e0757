"""The control socket: how the command line asks the running sidecar."""
