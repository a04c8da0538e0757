"""Is the target what the source is? Compared object by object, through policy and rewrite."""
