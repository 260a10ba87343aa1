"""The task-set factory: sources in, rubric tasks out."""
