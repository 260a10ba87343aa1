"""`webgym train`: rollout, judge, evaluate, replay, train, publish, and again, until the last iteration.

settings   everything the loop can be told
state      which phases are done: one result file each
leakage    refuses to start if a website is trained and tested on; tells pages of tested websites
figures    what a set of episodes came to, with intervals
phases     one function a phase
training   replay, train, publish; also alone, as `webgym update`
verdicts   the judge's second look
serving    the model server between rollouts and training, and the memory it gives back
running    the loop itself
memory     what is held of it, and whether it is given back
metrics    metrics.jsonl
trackers   the same for trackers of others
display    what a person sees of it
plot       the learning curve
estimate   what a model needs of memory and disk
rehearsal  `--dry-run`
specimen   one batch of it
commands   the command line
"""
