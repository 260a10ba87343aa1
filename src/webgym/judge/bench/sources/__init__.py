"""Outside labelled sets, one file each: where their records stand and how they are read."""
