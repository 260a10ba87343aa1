"""Showing a model how it is done, on the offline web.

guide      what to do on any page of a task that opens a page
teacher    the guide as an agent that speaks a dialect; its episodes are ordinary ones
settings   everything `webgym warm-up` can be told
warming    tasks, demonstrations, replay and the first training of a tiny model
commands   the command line
"""
