# Trainings that outlive their jobs: Python only.
rnn_python = \
	examples/rnn/rnn_arguments.py \
	examples/rnn/rnn_history.py \
	examples/rnn/rnn_model.py \
	examples/rnn/rnn_report.py \
	examples/rnn/rnn_series.py \
	examples/rnn/rnn_train.py
rnnpythondir = $(pkgdatadir)/python/stretto/examples
dist_rnnpython_DATA = $(rnn_python)

rnnspecdir = $(pkgdatadir)/examples/rnn
dist_rnnspec_DATA = examples/rnn/rnn.json examples/rnn/rnn-alps.json examples/rnn/rnn-slurm.json examples/rnn/README.md

rnn_tests = tests/t/0341-rnn-alps.t tests/t/0342-rnn-slurm.t
dist_check_SCRIPTS += $(rnn_tests) tests/t/rnn.sh
TESTS += $(rnn_tests)
