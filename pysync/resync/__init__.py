"""Resync: reads at the source what targets may have missed: after a gap, for a new target, or on request."""
