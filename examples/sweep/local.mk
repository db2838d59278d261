# A sweep of trainings in PyTorch: Python only.
sweep_python = \
	examples/sweep/sweep_images.py \
	examples/sweep/sweep_train.py
sweeppythondir = $(pkgdatadir)/python/stretto/examples
dist_sweeppython_DATA = $(sweep_python)

sweepspecdir = $(pkgdatadir)/examples/sweep
dist_sweepspec_DATA = examples/sweep/sweep.json examples/sweep/sweep-slurm.json examples/sweep/README.md

sweep_tests = tests/t/0346-sweep.t
dist_check_SCRIPTS += $(sweep_tests)
TESTS += $(sweep_tests)
