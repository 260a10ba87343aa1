"""One read-only web app over a run: the live monitor and the trajectory viewer, and the same picture in a terminal."""
