"""Targets: places that changes are brought to; `base` says what one is, `settings` what it takes, `kinds` finds it."""
