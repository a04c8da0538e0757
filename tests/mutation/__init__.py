"""Mutation testing of the parts that decide: `make test SUITE=mutation` (docs/testing.md)."""
