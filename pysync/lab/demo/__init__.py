"""The demo: real servers, a sidecar that is killed half-way, and both ends compared."""
