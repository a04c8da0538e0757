"""A small model of the world: a source metastore that tells of its changes, and a target that they are applied to.

Both keep the same plain objects (`world`), so that their final states can be compared.
"""
