dist_man_MANS += docs/man/stretto.1 docs/man/stretto.3 docs/man/stretto-run.1 docs/man/stretto-spec.5 \
	docs/man/strettod.8
EXTRA_DIST += CHANGELOG.md CONTRIBUTING.md tests/README.md docs/adapters.md docs/cluster.md docs/early-stopping.md \
	docs/follow-ups.md docs/generators.md docs/glossary.md docs/grafana.json docs/instrument.md docs/internals.md \
	docs/run-directory.md docs/protocol.md docs/solver.md docs/training.md docs/sweeps.md docs/buffers.md \
	docs/buffers.svg docs/dashboard.webp docs/dashboard-dark.webp tests/t/dashboard_picture.py .ci/run \
	build-aux/install-packages build-aux/packages.txt

dist_check_SCRIPTS += tests/t/0600-cli.t tests/t/0603-report.t tests/t/0604-cli-printed.t tests/t/0621-cli-asked.t \
	tests/t/0622-report-printed.t tests/t/0623-cli-shown.t tests/t/0605-completion.t tests/t/0606-operator.t \
	tests/t/0607-mistakes.t tests/t/0613-cli-answers.t tests/t/0614-cli-watch.t tests/t/0610-docs.t tests/t/0620-log.t \
	tests/t/0630-systemd.t tests/t/0690-readme.t tests/t/0692-early-stopping-page.t tests/t/0693-sweeps-page.t \
	tests/t/0694-cluster-page.t tests/t/0695-follow-ups-page.t tests/t/0696-instrument.t tests/t/0697-picture.t \
	tests/t/0698-generators-page.t
TESTS += tests/t/0600-cli.t tests/t/0603-report.t tests/t/0604-cli-printed.t tests/t/0621-cli-asked.t \
	tests/t/0622-report-printed.t tests/t/0623-cli-shown.t tests/t/0605-completion.t tests/t/0606-operator.t \
	tests/t/0607-mistakes.t tests/t/0613-cli-answers.t tests/t/0614-cli-watch.t tests/t/0610-docs.t tests/t/0620-log.t \
	tests/t/0630-systemd.t tests/t/0690-readme.t tests/t/0692-early-stopping-page.t tests/t/0693-sweeps-page.t \
	tests/t/0694-cluster-page.t tests/t/0695-follow-ups-page.t tests/t/0696-instrument.t tests/t/0697-picture.t \
	tests/t/0698-generators-page.t
EXTRA_DIST += tests/t/lib.sh tests/unit/jobdesc_whole.h tests/unit/unit.h

# ./check cannot be in EXTRA_DIST: as a prerequisite it would be the target of that name, and `make dist` run all tests.
dist-hook:
	cp -p $(srcdir)/check $(distdir)/check
