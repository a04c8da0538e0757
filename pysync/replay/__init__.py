"""From queued events to a target that has them: policy, rewrite, plan, drain."""
