"""MiniWoB++ as an offline suite: the pages of the package `miniwob`, played by screenshots and coordinates.

The flow is the file list: `package` finds the installed pages, `server` serves them so that an episode starts by itself,
`suite` names the tasks, `record` is what a page leaves behind in the browser session, `verify` turns that into a verdict.
Invariant: a task's id fixes its problem (task, seed, data mode), and a verdict rests on the record alone.
"""
