"""Turns an episode and its rubric into a verdict.

settings   which models judge, how sure they must be, what they are shown
evidence   the distinct screenshots of an episode, small ones for a first look
answers    answers that say nothing and need no model
blocking   whether the website refused, by cheap signs
criteria   what is asked: prompts, fenced data, screenshots
reading    what may be replied, and what makes a reply useless
models     the endpoints of a judge, open for asking
rubric     the judge: look → blocked? → claims → facts → reference answer
foreign    actions of other systems, in their own words
bench      how good a judge is, against episodes whose truth is known

Invariant: reward 1 needs a usable reply about every claim and every fact. Whatever else happens is `Scored(0)` for a
reason that is the agent's, or `Unscorable`.
"""
