"""The simulator: clusters with all that belongs to them in one thread, on a clock of its own (docs/testing.md).

What is real is the code of pysync, from the bridge's reception to the target. What is modelled is what it talks to: the
metastores (pysync.lab.memory), their listeners, the clock, and all that goes wrong.
"""
