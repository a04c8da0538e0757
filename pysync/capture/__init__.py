"""How events come in: the bridge that the listener calls."""
