# heat2d is compiled and linked by the MPI wrapper around our own compiler, so that sanitizers and flags fit; all else
# in the tree by $(CC) itself. The wrappers of MPICH (and Intel MPI) and of Open MPI read these variables.
MPI_WRAPPED_CC = env MPICH_CC='@CC@' I_MPI_CC='@CC@' OMPI_CC='@CC@' $(MPICC)

heat_pure_sources = \
	examples/heat/analytic.c examples/heat/analytic.h \
	examples/heat/solver.c examples/heat/solver.h

if HAVE_MPI
example_PROGRAMS += examples/heat/heat2d
examples_heat_heat2d_SOURCES = $(heat_pure_sources) \
	examples/heat/main.c \
	examples/heat/options.c examples/heat/options.h \
	examples/heat/output_npy.c examples/heat/output_npy.h \
	examples/heat/partition.c examples/heat/partition.h
examples_heat_heat2d_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tasks/member
examples_heat_heat2d_CFLAGS = $(AM_CFLAGS)
examples_heat_heat2d_LDADD = libmember.la libcommon.la -lm
examples_heat_heat2d_LDFLAGS = $(AM_LDFLAGS) -static
examples_heat_heat2d_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=link \
	$(MPI_WRAPPED_CC) $(examples_heat_heat2d_CFLAGS) $(CFLAGS) $(examples_heat_heat2d_LDFLAGS) $(LDFLAGS) -o $@
$(examples_heat_heat2d_OBJECTS): CC = $(MPI_WRAPPED_CC)
endif

heat_python = \
	examples/heat/heat_books.py \
	examples/heat/heat_daemon.py \
	examples/heat/heat_design.py \
	examples/heat/heat_model.py \
	examples/heat/heat_offline.py \
	examples/heat/heat_parameters.py \
	examples/heat/heat_report.py \
	examples/heat/heat_surrogate.py \
	examples/heat/heat_table.py \
	examples/heat/heat_validation.py
heatpythondir = $(pkgdatadir)/python/stretto/examples
dist_heatpython_DATA = $(heat_python)

heatspecdir = $(pkgdatadir)/examples/heat
dist_heatspec_DATA = examples/heat/heat.json examples/heat/heat-open.json examples/heat/heat-small.json \
	examples/heat/heat-slurm.json examples/heat/README.md

dist_check_SCRIPTS += tests/t/0300-heat-solver.t tests/t/0310-heat-options.t tests/t/0320-heat-surrogate.t \
	tests/t/0324-resample.t
TESTS += tests/t/0300-heat-solver.t tests/t/0310-heat-options.t tests/t/0320-heat-surrogate.t tests/t/0324-resample.t

if HAVE_CMOCKA
unit_tests += tests/unit/test_heat_solver
tests_unit_test_heat_solver_SOURCES = tests/unit/test_heat_solver.c $(heat_pure_sources)
tests_unit_test_heat_solver_CFLAGS = $(unit_cflags)
tests_unit_test_heat_solver_LDADD = $(unit_libs) -lm
endif
