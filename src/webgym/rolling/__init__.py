"""`webgym rollout`: tasks, agent, server, engine and store put together.

settings   everything the command can be told
plan       which episodes there are to do
oracle     the offline web's oracle as an agent
replaying  a recorded run again
assembly   the parts of a rollout, running
show       progress while it runs, a table at the end
"""
