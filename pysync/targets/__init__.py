"""Targets: places that changes are brought to. `base` says what one is, and finds its kind; `settings` is its table."""
