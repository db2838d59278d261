# libstretto, installed. Programs of this tree link libmember.la, the same code, so that they are real binaries in the
# build tree and need no library path where they are installed.
noinst_LTLIBRARIES += libmember.la
libmember_la_SOURCES = \
	tasks/member/bundle.c tasks/member/bundle.h \
	tasks/member/checkpoint.c tasks/member/checkpoint.h \
	tasks/member/convert.c tasks/member/convert.h \
	tasks/member/declare.c tasks/member/declare.h \
	tasks/member/discovery.c tasks/member/discovery.h \
	tasks/member/environment.c tasks/member/environment.h \
	tasks/member/link_flusher.c tasks/member/link_flusher.h \
	tasks/member/generation.c tasks/member/generation.h \
	tasks/member/known.c tasks/member/known.h \
	tasks/member/lending.c tasks/member/lending.h \
	tasks/member/metric.c \
	tasks/member/link.c tasks/member/link.h tasks/member/link_private.h tasks/member/link_send.c \
	tasks/member/links.c tasks/member/links.h \
	tasks/member/parcel.c tasks/member/parcel.h \
	tasks/member/sendbuf.c tasks/member/sendbuf.h \
	tasks/member/slots.c tasks/member/slots.h \
	tasks/member/steps.c tasks/member/steps.h \
	tasks/member/stretto.c tasks/member/stretto_field.c tasks/member/stretto_private.h \
	tasks/member/window.c tasks/member/window.h
libmember_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(ZMQ_CFLAGS)
libmember_la_LIBADD = libstreamproto.la libckptdir.la libcommon.la $(ZMQ_LIBS) $(JANSSON_LIBS) -lpthread

lib_LTLIBRARIES += libstretto.la
libstretto_la_SOURCES =
libstretto_la_LIBADD = libmember.la
libstretto_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -export-symbols-regex '^stretto_'
include_HEADERS += tasks/member/stretto.h tasks/member/stretto-mpi.h tasks/member/stretto-mpi-extent.h
pkgconfig_DATA += tasks/member/stretto.pc

include tasks/member/fortran/local.mk

check_PROGRAMS += tests/t/checkpoint-member
tests_t_checkpoint_member_SOURCES = tests/t/checkpoint-member.c
tests_t_checkpoint_member_LDADD = libmember.la
check_PROGRAMS += tests/t/metric-member
tests_t_metric_member_SOURCES = tests/t/metric-member.c
tests_t_metric_member_LDADD = libmember.la
check_PROGRAMS += tests/t/held-member
tests_t_held_member_SOURCES = tests/t/held-member.c
tests_t_held_member_LDADD = libmember.la
check_PROGRAMS += tests/t/chaos-member
tests_t_chaos_member_SOURCES = tests/t/chaos-member.c
tests_t_chaos_member_LDADD = libmember.la

# Part of the Python package, which tasks/train/local.mk puts together.
member_python = tasks/member/python/stretto/member.py tasks/member/python/stretto/metrics.py

EXTRA_DIST += tests/t/stream-member.py tests/t/stream-mpi.c tests/t/stream-mpi.f90
dist_check_SCRIPTS += tests/t/0210-stream-languages.t tests/t/0230-stream-mpi.t tests/t/0240-stream-varying.t
TESTS += tests/t/0210-stream-languages.t tests/t/0230-stream-mpi.t tests/t/0240-stream-varying.t
