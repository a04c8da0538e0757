"""From other tools to pysync."""
