# Drivers of batch systems, one or a few files each, and the table that lists them.
noinst_LTLIBRARIES += libadapters.la
libadapters_la_SOURCES = \
	scheduler-adapters/adapter.h \
	scheduler-adapters/answers.c scheduler-adapters/answers.h \
	scheduler-adapters/local.c scheduler-adapters/local.h \
	scheduler-adapters/local_ask.c \
	scheduler-adapters/local_look.c \
	scheduler-adapters/local_queue.c \
	scheduler-adapters/local_runner.c \
	scheduler-adapters/registry.c
libadapters_la_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
libadapters_la_LIBADD = libjobproto.la libcommon.la $(UV_LIBS) $(JANSSON_LIBS)
EXTRA_DIST += scheduler-adapters/template.c
