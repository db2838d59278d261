# Generators for open ensembles, in Python, for the shell and in C.
suggestdir = $(pkgdatadir)/examples/suggest
dist_suggest_SCRIPTS = examples/suggest/optimise.py examples/suggest/random.sh
dist_suggest_DATA = examples/suggest/resample.c
