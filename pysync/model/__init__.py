"""What flows through pysync: events, their objects, and the operations they become. Imports only errors of ours."""
