"""`webgym judge`: judges built from settings, at work on stored runs and beside rollouts.

programmatic   the verifiers of the offline web and MiniWoB++ as one judge
assembly       the rubric judge with its endpoints, its images and the block list
running        every episode of a run that has no verdict yet, so many at a time
diff           two judges' verdicts side by side
commands       the command line
agents         the bench's cast: five agents whose success or failure is known
truth          labelled episodes of the offline web, played by the cast
bench_command  `webgym judge bench` and `webgym judge import`, with bench_settings
"""
