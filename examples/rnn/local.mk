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
dist_rnnspec_DATA = examples/rnn/rnn.json examples/rnn/README.md

dist_check_SCRIPTS += tests/t/0340-rnn.t
TESTS += tests/t/0340-rnn.t
