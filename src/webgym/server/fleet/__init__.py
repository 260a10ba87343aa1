"""Ways to run a master and its workers."""
