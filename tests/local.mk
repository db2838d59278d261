# Unit tests are cmocka programs, tests/unit/test_*.c, listed in the local.mk of the room that they test.
# End-to-end tests are tests/t/NNNN-*.t, shell with curl and jq against the real daemon. Both speak TAP.
TEST_EXTENSIONS = .t
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' CMOCKA_MESSAGE_OUTPUT=TAP $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
# Where a test finds the build: sources, build tree, and what configure found.
AM_TESTS_ENVIRONMENT = \
	srcdir='$(abs_top_srcdir)'; export srcdir; \
	builddir='$(abs_top_builddir)'; export builddir; \
	STRETTO_SANITIZE='$(SANITIZE_LIST)'; export STRETTO_SANITIZE; \
	STRETTO_MPIEXEC='$(MPIEXEC)'; export STRETTO_MPIEXEC; \
	STRETTO_PYTHON='$(STRETTO_PYTHON)'; export STRETTO_PYTHON;

unit_cflags = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(JANSSON_CFLAGS) -Wno-missing-prototypes
unit_libs = libcommon.la $(CMOCKA_LIBS) $(JANSSON_LIBS)
if HAVE_CMOCKA
unit_tests =
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
endif

# The daemon as a whole.
e2e_tests = \
	tests/t/0700-main-job.t \
	tests/t/0710-daemon-killed.t \
	tests/t/0715-members-killed.t \
	tests/t/0720-members.t \
	tests/t/0730-restart.t \
	tests/t/0740-training.t \
	tests/t/0750-killed-often.t \
	tests/t/0760-full-disk.t \
	tests/t/0770-verbs.t \
	tests/t/0775-fair-shares.t \
	tests/t/0776-given-up.t \
	tests/t/0780-parameter-files.t
TESTS += $(e2e_tests)
dist_check_SCRIPTS += $(e2e_tests)

# The engine on a simulated cluster.
if HAVE_CMOCKA
unit_tests += tests/unit/test_engine_sim
sim_sources = tests/sim/cluster.c tests/sim/disk.c tests/sim/sim.c tests/sim/sim.h tests/sim/watch.c
tests_unit_test_engine_sim_SOURCES = tests/unit/test_engine_sim.c tests/unit/unit.h $(sim_sources)
tests_unit_test_engine_sim_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_sim_LDADD = libdaemon.la $(unit_libs)

check_PROGRAMS += tests/bench/engine-million
tests_bench_engine_million_SOURCES = tests/bench/engine_million.c $(sim_sources)
tests_bench_engine_million_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_bench_engine_million_LDADD = libdaemon.la $(unit_libs)
endif
EXTRA_DIST += tests/sim/plant.py tests/sim/planted.txt
