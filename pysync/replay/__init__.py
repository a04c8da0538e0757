"""From queued events to a target that has them: policy, mapping, plan, drain."""
