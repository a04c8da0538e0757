"""What flows through pysync: events, their objects, and the operations they become. Of ours it imports only errors."""
