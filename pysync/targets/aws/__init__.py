"""What the targets on AWS share: settings, clients, what objects look like in Glue, and what its answers mean."""
