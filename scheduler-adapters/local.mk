# Drivers of batch systems, one or a few files each, and the table that lists them.
noinst_LTLIBRARIES += libadapters.la
libadapters_la_SOURCES = \
	scheduler-adapters/adapter.h \
	scheduler-adapters/answers.c scheduler-adapters/answers.h \
	scheduler-adapters/local.c scheduler-adapters/local.h \
	scheduler-adapters/local_ask.c \
	scheduler-adapters/local_gpus.c \
	scheduler-adapters/local_look.c \
	scheduler-adapters/local_machine.c \
	scheduler-adapters/local_queue.c \
	scheduler-adapters/local_runner.c \
	scheduler-adapters/registry.c
libadapters_la_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
libadapters_la_LIBADD = libjobproto.la libcommon.la $(UV_LIBS) $(JANSSON_LIBS)

if HAVE_CMOCKA
unit_tests += tests/unit/test_adapter_resources tests/unit/test_adapter_conformance tests/unit/test_adapter_restart tests/unit/test_adapter_template
adapter_harness = tests/unit/adapter_harness.c tests/unit/adapter_harness.h
tests_unit_test_adapter_conformance_SOURCES = tests/unit/test_adapter_conformance.c $(adapter_harness)
tests_unit_test_adapter_conformance_CFLAGS = $(unit_cflags) $(UV_CFLAGS) $(ZMQ_CFLAGS)
tests_unit_test_adapter_conformance_LDADD = libadapters.la libjobproto.la $(unit_libs) $(UV_LIBS) $(ZMQ_LIBS)
tests_unit_test_adapter_resources_SOURCES = tests/unit/test_adapter_resources.c $(adapter_harness)
tests_unit_test_adapter_resources_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_resources_LDADD = libadapters.la libjobproto.la $(unit_libs) $(UV_LIBS)
tests_unit_test_adapter_restart_SOURCES = tests/unit/test_adapter_restart.c $(adapter_harness)
tests_unit_test_adapter_restart_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_restart_LDADD = libadapters.la libjobproto.la $(unit_libs) $(UV_LIBS) $(ZMQ_LIBS)
tests_unit_test_adapter_template_SOURCES = tests/unit/test_adapter_template.c $(adapter_harness) scheduler-adapters/template.c
tests_unit_test_adapter_template_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_template_LDADD = libadapters.la libjobproto.la $(unit_libs) $(UV_LIBS) $(ZMQ_LIBS)
endif
EXTRA_DIST += scheduler-adapters/template.c tests/unit/adapter_harness.c tests/unit/adapter_harness.h
