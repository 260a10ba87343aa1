"""From samples to a new checkpoint, and from a checkpoint to a model that answers.

torch and its company are imported by the modules that train and serve, which run in processes of their own: `job`,
`checkpoint` and `readiness`, which the loop uses, import none of it.
"""
