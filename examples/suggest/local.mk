# Generators for open ensembles, in Python and for the shell.
suggestdir = $(pkgdatadir)/examples/suggest
dist_suggest_SCRIPTS = examples/suggest/optimise.py examples/suggest/random.sh
