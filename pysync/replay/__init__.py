"""Replay: brings queued events to a target, by policy, mapping, plan and drain."""
