"""Measures: what pysync measures of its own work: durations, rates and counts. Numbers and clocks only."""
