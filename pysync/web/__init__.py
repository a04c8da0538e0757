"""What the sidecar shows over HTTP, on loopback: metrics and health. Extra `web`."""
