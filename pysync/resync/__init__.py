"""Resync: what targets may have missed is read at the source again: after a gap, for a new target, on request."""
