"""How good is a judge? Its verdicts beside the truth, on episodes whose truth is known.

labelled    a run's folder whose episodes have a truth: which judge's word counts as such
measuring   a judge at work on labelled episodes, so many at a time
figures     accuracy, precision, recall, Cohen's kappa with intervals; cost and seconds
table       the figures for a terminal
plot        the figures as a picture
pictures    what an image file is, from its first bytes
importing   records of outside sets into a labelled run
sources/    one file an outside set: how its records are read
"""
