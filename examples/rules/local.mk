# Trainings with rules: specs for the program of examples/sweep.
rulesspecdir = $(pkgdatadir)/examples/rules
dist_rulesspec_DATA = examples/rules/reference.json examples/rules/tuned.json examples/rules/README.md

rules_tests = tests/t/0348-rules.t
dist_check_SCRIPTS += $(rules_tests)
TESTS += $(rules_tests)
