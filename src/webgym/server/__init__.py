"""The rollout server ("Omniboxes"): leased browser sessions behind one HTTP call a step.

It stands alone: nothing here imports another stage.
"""
