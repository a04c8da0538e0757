"""What the sidecar shows over HTTP: the page, metrics and health. Extra `web`."""
