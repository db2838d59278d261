noinst_LTLIBRARIES += libcommon.la
libcommon_la_SOURCES = \
	common/backoff.h \
	common/below.c common/below.h \
	common/lesser.h common/stretto_assert.h \
	common/embedded.h \
	common/error.c common/error.h \
	common/files.c common/files.h \
	common/heap.c common/heap.h \
	common/jsonx.c common/jsonx.h \
	common/jobfd.c common/jobfd.h \
	common/log.c common/log.h \
	common/log_changes.c common/log_changes.h \
	common/log_format.c common/log_format.h \
	common/log_limit.c common/log_limit.h \
	common/log_sink.c common/log_sink.h \
	common/member_state.c common/member_state.h \
	common/near.c common/near.h \
	common/output.c common/output.h \
	common/process.c common/process.h \
	common/safe_path.c common/safe_path.h \
	common/shell_word.c common/shell_word.h \
	common/text.c common/text.h \
	common/thread.c common/thread.h \
	common/timefmt.c common/timefmt.h \
	common/units.c common/units.h \
	common/xalloc.c common/xalloc.h
libcommon_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libcommon_la_LIBADD = $(JANSSON_LIBS)

# For programs that use libcurl anyway.
noinst_LTLIBRARIES += liburl.la
liburl_la_SOURCES = common/url.c common/url.h
liburl_la_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
liburl_la_LIBADD = $(CURL_LIBS)

if HAVE_CMOCKA
unit_tests += tests/unit/test_units tests/unit/test_jsonx tests/unit/test_common tests/unit/test_files \
	tests/unit/test_heap tests/unit/test_log tests/unit/test_process tests/unit/test_safe_path \
	tests/unit/test_text
tests_unit_test_common_CFLAGS = $(unit_cflags)
tests_unit_test_common_LDADD = $(unit_libs) -lpthread
tests_unit_test_process_CFLAGS = $(unit_cflags)
tests_unit_test_process_LDADD = $(unit_libs)
tests_unit_test_safe_path_CFLAGS = $(unit_cflags)
tests_unit_test_safe_path_LDADD = $(unit_libs)
tests_unit_test_heap_CFLAGS = $(unit_cflags)
tests_unit_test_heap_LDADD = $(unit_libs)
tests_unit_test_text_CFLAGS = $(unit_cflags)
tests_unit_test_text_LDADD = $(unit_libs)
tests_unit_test_units_CFLAGS = $(unit_cflags)
tests_unit_test_units_LDADD = $(unit_libs)
tests_unit_test_jsonx_CFLAGS = $(unit_cflags)
tests_unit_test_jsonx_LDADD = $(unit_libs)
tests_unit_test_log_CFLAGS = $(unit_cflags)
tests_unit_test_log_LDADD = $(unit_libs)
tests_unit_test_files_CFLAGS = $(unit_cflags)
tests_unit_test_files_LDADD = $(unit_libs)
endif
