"""What a run leaves on disk: plan, episodes, images, outcomes, verdicts."""

from webgym.store.outcomes import Record
from webgym.store.plan import Planned, episode_id
from webgym.store.run import Run

__all__ = ["Planned", "Record", "Run", "episode_id"]
