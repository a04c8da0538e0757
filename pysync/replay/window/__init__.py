"""The window: what queued events mean for one target, from their bytes to works in order. Pure."""
