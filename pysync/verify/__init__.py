"""Verify: compares source and target object by object, through policy and mapping."""
