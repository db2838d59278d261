# libstretto-train, installed, over libtrain.la, which unit tests and programs of this tree link.
noinst_LTLIBRARIES += libtrain.la
libtrain_la_SOURCES = \
	tasks/train/batch.c tasks/train/batch.h \
	tasks/train/buffer.c tasks/train/buffer.h tasks/train/policy.h \
	tasks/train/config.c tasks/train/config.h \
	tasks/train/copies.c tasks/train/copies.h \
	tasks/train/cut.c tasks/train/cut.h \
	tasks/train/descriptors.c tasks/train/descriptors.h \
	tasks/train/drawn.c tasks/train/drawn.h \
	tasks/train/endpoint.c tasks/train/endpoint.h \
	tasks/train/faults.c tasks/train/faults.h \
	tasks/train/fifo.c tasks/train/firo.c tasks/train/gaps.c tasks/train/gaps.h tasks/train/reservoir.c \
	tasks/train/handover.c tasks/train/handover.h \
	tasks/train/intake.c tasks/train/intake.h tasks/train/intake_private.h \
	tasks/train/intake_answer.c tasks/train/intake_field.c tasks/train/intake_ready.c tasks/train/intake_resume.c \
	tasks/train/kept.c tasks/train/kept.h \
	tasks/train/mapping.c tasks/train/mapping.h \
	tasks/train/network.c tasks/train/network.h \
	tasks/train/patience.c tasks/train/patience.h \
	tasks/train/peers.c tasks/train/peers.h \
	tasks/train/pool.c tasks/train/pool.h \
	tasks/train/random.c tasks/train/random.h \
	tasks/train/reception.c tasks/train/reception.h \
	tasks/train/receiver.c tasks/train/receiver.h \
	tasks/train/report.c tasks/train/report.h \
	tasks/train/resume.c tasks/train/resume.h \
	tasks/train/sample.c tasks/train/sample.h \
	tasks/train/saved.c tasks/train/saved.h \
	tasks/train/saver.c tasks/train/saver.h \
	tasks/train/state.c tasks/train/state.h \
	tasks/train/tallies.c tasks/train/tallies.h \
	tasks/train/train.c tasks/train/train_checkpoint.c tasks/train/train_private.h
libtrain_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(ZMQ_CFLAGS)
# libcommon.la comes with libjobproto.la
libtrain_la_LIBADD = libstreamproto.la libjobproto.la $(ZMQ_LIBS) $(JANSSON_LIBS) -lpthread

lib_LTLIBRARIES += libstretto-train.la
libstretto_train_la_SOURCES =
libstretto_train_la_LIBADD = libtrain.la
libstretto_train_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -export-symbols-regex '^stretto_train_'
include_HEADERS += tasks/train/stretto-train.h

# The Python package, installed, and as a tree of links in the build directory: PYTHONPATH=BUILD/python works.
stretto_python = \
	$(member_python) \
	tasks/train/python/stretto/__init__.py \
	tasks/train/python/stretto/_library.py \
	tasks/train/python/stretto/_snapshot.py \
	tasks/train/python/stretto/distributed.py \
	tasks/train/python/stretto/torch.py \
	tasks/train/python/stretto/train.py
strettopythondir = $(pkgdatadir)/python/stretto
dist_strettopython_DATA = $(stretto_python)
nodist_strettopython_DATA = tasks/train/_config.py
strettoexamplesdir = $(pkgdatadir)/python/stretto/examples
dist_strettoexamples_DATA = tasks/train/python/stretto/examples/__init__.py

tasks/train/_config.py: Makefile
	$(AM_V_GEN)$(MKDIR_P) tasks/train && { echo 'LIBRARY = "$(libdir)/libstretto-train.so.0"' && \
	echo 'MEMBER_LIBRARY = "$(libdir)/libstretto.so.0"'; } > $@

noinst_DATA = python/stretto/.stamp
python/stretto/.stamp: Makefile $(stretto_python) $(dist_strettoexamples_DATA) $(heat_python) $(rnn_python) \
	$(sweep_python)
	$(AM_V_GEN)rm -rf python && $(MKDIR_P) python/stretto/examples && \
	for f in $(stretto_python); do \
		$(LN_S) '$(abs_top_srcdir)'/$$f python/stretto/ || exit 1; \
	done && \
	for f in $(dist_strettoexamples_DATA) $(heat_python) $(rnn_python) $(sweep_python); do \
		$(LN_S) '$(abs_top_srcdir)'/$$f python/stretto/examples/ || exit 1; \
	done && \
	{ echo 'LIBRARY = "$(abs_top_builddir)/.libs/libstretto-train.so"' && \
	echo 'MEMBER_LIBRARY = "$(abs_top_builddir)/.libs/libstretto.so"'; } > python/stretto/_config.py && touch $@

CLEANFILES += tasks/train/_config.py
clean-local: clean-stretto-python
.PHONY: clean-stretto-python
clean-stretto-python:
	rm -rf python

if HAVE_CMOCKA
check_LTLIBRARIES += tests/unit/libstreamfixture.la
tests_unit_libstreamfixture_la_SOURCES = tests/unit/stream_fixture.c tests/unit/stream_fixture.h \
	tests/unit/intake_rig.c tests/unit/intake_rig.h
tests_unit_libstreamfixture_la_CFLAGS = $(stream_cflags)
stream_libs = tests/unit/libstreamfixture.la libtrain.la libmember.la $(unit_libs) $(ZMQ_LIBS) -lpthread -lm
stream_cflags = $(unit_cflags) $(ZMQ_CFLAGS)
unit_tests += tests/unit/test_frame tests/unit/test_buffer tests/unit/test_pool \
	tests/unit/test_dealing tests/unit/test_gaps tests/unit/test_intake tests/unit/test_intake_sessions
unit_tests += tests/unit/test_stream_network tests/unit/test_stream_lent tests/unit/test_stream_forked \
	tests/unit/test_stream_small
tests_unit_test_stream_small_CFLAGS = $(stream_cflags)
tests_unit_test_stream_small_LDADD = $(stream_libs)
unit_tests += tests/unit/test_flusher tests/unit/test_shared tests/unit/test_stream_shared
tests_unit_test_flusher_CFLAGS = $(stream_cflags)
tests_unit_test_flusher_LDADD = $(stream_libs)
tests_unit_test_shared_CFLAGS = $(stream_cflags)
tests_unit_test_shared_LDADD = $(stream_libs)
tests_unit_test_stream_shared_CFLAGS = $(stream_cflags)
tests_unit_test_stream_shared_LDADD = $(stream_libs)
unit_tests += tests/unit/test_no_memory
tests_unit_test_no_memory_CFLAGS = $(stream_cflags)
tests_unit_test_no_memory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc \
	-Wl,--wrap=reallocarray -Wl,--wrap=aligned_alloc -Wl,--wrap=strdup -Wl,--wrap=zmq_ctx_new -Wl,--wrap=zmq_socket \
	-Wl,--wrap=zmq_msg_init_size -Wl,--wrap=zmq_msg_init_data
tests_unit_test_no_memory_LDADD = $(stream_libs)
unit_tests += tests/unit/test_stream_crowd
tests_unit_test_stream_crowd_CFLAGS = $(stream_cflags)
tests_unit_test_stream_crowd_LDADD = $(stream_libs)
unit_tests += tests/unit/test_descriptors
tests_unit_test_descriptors_CFLAGS = $(stream_cflags)
tests_unit_test_descriptors_LDADD = $(stream_libs)
unit_tests += tests/unit/test_kept
tests_unit_test_kept_CFLAGS = $(stream_cflags)
tests_unit_test_kept_LDADD = $(stream_libs)
unit_tests += tests/unit/test_stream_again
tests_unit_test_stream_again_CFLAGS = $(stream_cflags)
tests_unit_test_stream_again_LDADD = $(stream_libs)
unit_tests += tests/unit/test_retain
tests_unit_test_retain_CFLAGS = $(stream_cflags)
tests_unit_test_retain_LDADD = $(stream_libs)
unit_tests += tests/unit/test_saver
saver_rig = tests/unit/saver_rig.c tests/unit/saver_rig.h
tests_unit_test_saver_SOURCES = tests/unit/test_saver.c tests/unit/saver_handover.c tests/unit/saver_handover.h \
	$(saver_rig)
tests_unit_test_saver_CFLAGS = $(stream_cflags)
tests_unit_test_saver_LDADD = $(stream_libs)
EXTRA_DIST += tests/unit/unit_dir.h
unit_tests += tests/unit/test_saver_behind
tests_unit_test_saver_behind_SOURCES = tests/unit/test_saver_behind.c $(saver_rig)
tests_unit_test_saver_behind_CFLAGS = $(stream_cflags)
tests_unit_test_saver_behind_LDADD = $(stream_libs)
unit_tests += tests/unit/test_report tests/unit/test_stream_held
tests_unit_test_stream_held_CFLAGS = $(stream_cflags)
tests_unit_test_stream_held_LDADD = $(stream_libs)
tests_unit_test_report_CFLAGS = $(stream_cflags)
tests_unit_test_report_LDADD = $(stream_libs)
unit_tests += tests/unit/test_stream_follow
tests_unit_test_stream_follow_SOURCES = tests/unit/test_stream_follow.c tests/unit/stream_puppets.c \
	tests/unit/stream_puppets.h
tests_unit_test_stream_follow_CFLAGS = $(stream_cflags)
tests_unit_test_stream_follow_LDADD = $(stream_libs)
unit_tests += tests/unit/test_interfaces
tests_unit_test_interfaces_CFLAGS = $(stream_cflags)
tests_unit_test_interfaces_LDADD = $(stream_libs)
unit_tests += tests/unit/test_train_parts
tests_unit_test_train_parts_SOURCES = tests/unit/test_train_parts.c tests/unit/train_pool.c tests/unit/train_pool.h
tests_unit_test_train_parts_CFLAGS = $(stream_cflags)
tests_unit_test_train_parts_LDADD = $(stream_libs)
unit_tests += tests/unit/test_alive
tests_unit_test_alive_CFLAGS = $(stream_cflags)
tests_unit_test_alive_LDADD = $(stream_libs)
unit_tests += tests/unit/test_link
tests_unit_test_link_CFLAGS = $(unit_cflags) $(ZMQ_CFLAGS)
tests_unit_test_link_LDADD = libmember.la $(unit_libs) $(ZMQ_LIBS)
unit_tests += tests/unit/test_member_parts
tests_unit_test_member_parts_SOURCES = tests/unit/test_member_parts.c tests/unit/member_metrics.c \
	tests/unit/member_metrics.h
tests_unit_test_member_parts_CFLAGS = $(unit_cflags)
tests_unit_test_member_parts_LDADD = libmember.la $(unit_libs)
unit_tests += tests/unit/test_stream_settings
tests_unit_test_stream_settings_CFLAGS = $(stream_cflags)
tests_unit_test_stream_settings_LDADD = $(stream_libs)
unit_tests += tests/unit/test_stream_varying
tests_unit_test_stream_varying_CFLAGS = $(stream_cflags)
tests_unit_test_stream_varying_LDADD = $(stream_libs)
tests_unit_test_stream_forked_CFLAGS = $(stream_cflags)
tests_unit_test_stream_forked_LDADD = $(stream_libs)
tests_unit_test_stream_lent_CFLAGS = $(stream_cflags)
tests_unit_test_stream_lent_LDADD = $(stream_libs)
tests_unit_test_stream_network_SOURCES = tests/unit/test_stream_network.c tests/unit/stream_tap.c \
	tests/unit/stream_tap.h tests/unit/stream_proxy.c tests/unit/stream_proxy.h
tests_unit_test_stream_network_CFLAGS = $(stream_cflags)
tests_unit_test_stream_network_LDADD = $(stream_libs)
unit_tests += tests/unit/test_stream tests/unit/test_stream_memory tests/unit/test_copy tests/unit/test_copies
tests_unit_test_copies_CFLAGS = $(stream_cflags)
tests_unit_test_copies_LDADD = $(stream_libs)
tests_unit_test_copy_CFLAGS = $(unit_cflags)
tests_unit_test_copy_LDADD = libstreamproto.la $(unit_libs)
tests_unit_test_stream_memory_CFLAGS = $(stream_cflags)
tests_unit_test_stream_memory_LDADD = $(stream_libs)
tests_unit_test_frame_CFLAGS = $(unit_cflags)
tests_unit_test_frame_LDADD = libstreamproto.la $(unit_libs)
tests_unit_test_buffer_CFLAGS = $(stream_cflags)
tests_unit_test_buffer_LDADD = $(stream_libs)
tests_unit_test_pool_CFLAGS = $(stream_cflags)
tests_unit_test_pool_LDADD = $(stream_libs)
tests_unit_test_dealing_CFLAGS = $(unit_cflags)
tests_unit_test_dealing_LDADD = libstreamproto.la $(unit_libs) -lm
tests_unit_test_gaps_CFLAGS = $(stream_cflags)
tests_unit_test_gaps_LDADD = $(stream_libs)
tests_unit_test_intake_CFLAGS = $(stream_cflags)
tests_unit_test_intake_LDADD = $(stream_libs)
tests_unit_test_intake_sessions_CFLAGS = $(stream_cflags)
tests_unit_test_intake_sessions_LDADD = $(stream_libs)
tests_unit_test_stream_SOURCES = tests/unit/test_stream.c tests/unit/stream_checkpoints.c \
	tests/unit/stream_checkpoints.h tests/unit/stream_proxy.c tests/unit/stream_proxy.h
tests_unit_test_stream_CFLAGS = $(stream_cflags)
tests_unit_test_stream_LDADD = $(stream_libs)
endif

check_PROGRAMS += tests/t/stream-member
tests_t_stream_member_SOURCES = tests/t/stream-member.c
tests_t_stream_member_LDADD = libmember.la
EXTRA_DIST += tests/t/stream-rank.py tests/t/python-members.py tests/t/python-parts.py tests/t/python_rig.py \
	tests/t/snapshot.py tests/t/gpu.py
dist_check_SCRIPTS += tests/t/0200-stream-python.t tests/t/0250-stream-shared.t tests/t/0260-snapshot.t \
	tests/t/0265-gpu.t
TESTS += tests/t/0200-stream-python.t tests/t/0250-stream-shared.t tests/t/0260-snapshot.t tests/t/0265-gpu.t
