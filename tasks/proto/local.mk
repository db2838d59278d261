# Job descriptor, claim, exit records and control messages, between daemon, adapters, runner and ranks.
noinst_LTLIBRARIES += libjobproto.la
libjobproto_la_SOURCES = \
	tasks/proto/buffer_policies.h \
	tasks/proto/ckptfind.c tasks/proto/ckptfind.h \
	tasks/proto/claim.c tasks/proto/claim.h \
	tasks/proto/control.c tasks/proto/control.h \
	tasks/proto/attempt_end.c tasks/proto/attempt_end.h tasks/proto/exitrec.c tasks/proto/exitrec.h \
	tasks/proto/jobdesc.c tasks/proto/jobdesc.h \
	tasks/proto/jobdesc_text.c tasks/proto/jobdesc_text.h \
	tasks/proto/kept.h \
	tasks/proto/points.c tasks/proto/points.h \
	tasks/proto/retries.c tasks/proto/retries.h \
	tasks/proto/starter.h
libjobproto_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libjobproto_la_LIBADD = libckptdir.la libcommon.la $(JANSSON_LIBS)

if HAVE_CMOCKA
unit_tests += tests/unit/test_jobproto tests/unit/test_jobdesc tests/unit/test_claim tests/unit/test_ckptdir \
	tests/unit/test_held tests/unit/test_points
tests_unit_test_claim_CFLAGS = $(unit_cflags)
tests_unit_test_claim_LDADD = libjobproto.la $(unit_libs)
tests_unit_test_jobdesc_CFLAGS = $(unit_cflags)
tests_unit_test_jobdesc_LDADD = libjobproto.la $(unit_libs)
tests_unit_test_held_CFLAGS = $(unit_cflags) $(XXHASH_CFLAGS)
tests_unit_test_held_LDADD = libjobproto.la $(unit_libs)
tests_unit_test_points_CFLAGS = $(unit_cflags)
tests_unit_test_points_LDADD = libjobproto.la $(unit_libs)
tests_unit_test_ckptdir_CFLAGS = $(unit_cflags)
tests_unit_test_ckptdir_LDADD = libjobproto.la $(unit_libs)
tests_unit_test_jobproto_CFLAGS = $(unit_cflags)
tests_unit_test_jobproto_LDADD = libjobproto.la $(unit_libs)
endif

# Records of checkpoints, between members, runner and daemon; without libcommon.la, as libstreamproto.la below.
noinst_LTLIBRARIES += libckptdir.la
libckptdir_la_SOURCES = tasks/proto/ckptdir.c tasks/proto/ckptdir.h tasks/proto/ends.c tasks/proto/ends.h \
	tasks/proto/held.c tasks/proto/held.h tasks/proto/streams.c tasks/proto/streams.h
libckptdir_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(XXHASH_CFLAGS)

# Frames of the stream, between members and ranks. Not linked with libcommon.la: a shared library takes every member of
# its convenience libraries, so each may be named once.
noinst_LTLIBRARIES += libstreamproto.la
libstreamproto_la_SOURCES = \
	tasks/proto/alive.c tasks/proto/alive.h \
	tasks/proto/copy.c tasks/proto/copy.h \
	tasks/proto/dealing.c tasks/proto/dealing.h \
	tasks/proto/fields.c tasks/proto/fields.h \
	tasks/proto/frame.c tasks/proto/frame.h \
	tasks/proto/shared.c tasks/proto/shared.h \
	tasks/proto/stepset.c tasks/proto/stepset.h
libstreamproto_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(XXHASH_CFLAGS)
