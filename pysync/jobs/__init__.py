"""Work that is done once, in a process of its own or asked of the running sidecar."""
