# The listing of docs/training.md.
trainingdir = $(pkgdatadir)/examples/training
dist_training_DATA = examples/training/learn.py
