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

# The longest tests of all rooms, those that mostly wait among the first; they and the unit tests, of which the first is
# the longest, are begun
# before the others, so that none of them is left running alone in the end.
long_tests = \
	tests/t/0763-damaged-rows.t \
	tests/t/0797-archives-killed.t \
	tests/t/0800-fuzz.t \
	tests/t/0670-pbs.t \
	tests/t/0736-out-of-time-and-streaming.t \
	tests/t/0682-alps-end.t \
	tests/t/0751-runners-killed.t \
	tests/t/0750-killed-often.t \
	tests/t/0671-pbs-faults.t \
	tests/t/0658-slurm-limits.t \
	tests/t/0655-slurmrestd.t \
	tests/t/0716-all-killed.t \
	tests/t/0640-plugins.t \
	tests/t/0681-aprun.t \
	tests/t/0722-checkpoints.t \
	tests/t/0651-slurm-faults.t \
	tests/t/0705-ranks.t \
	tests/t/0579-dashboard-members.t \
	tests/t/0578-dashboard-overview.t \
	tests/t/0220-solvers.t tests/t/0221-training-page.t \
	tests/t/0768-books-slurm.t \
	tests/t/0787-families-slurm.t \
	tests/t/0588-properties.t \
	tests/t/0330-heat-table.t \
	tests/t/0340-rnn.t \
	tests/t/0590-events.t \
	tests/t/0582-attacks.t
dist_check_SCRIPTS += $(long_tests)
if HAVE_CMOCKA
unit_tests =
check_PROGRAMS += $(unit_tests)
endif
TESTS += $(long_tests)
if HAVE_CMOCKA
TESTS += $(unit_tests)
endif

# tests/bench/run runs the benchmarks, one file each.
EXTRA_DIST += tests/bench/api.sh tests/bench/dashboard.sh tests/bench/dashboard_bench.py tests/bench/dispatch.sh \
	tests/bench/engine.sh tests/bench/inodes.sh tests/bench/lib.sh tests/bench/metrics.sh tests/bench/million.sh \
	tests/bench/million-killed.sh tests/bench/pilot.sh tests/bench/rungs.sh \
	tests/bench/run tests/bench/slurm.sh tests/bench/suggest.sh tests/bench/suggest_bench.py

# The daemon as a whole.
e2e_tests = \
	tests/t/0347-early-stopping.t \
	tests/t/0348-stop-rules.t \
	tests/t/0609-full-output.t \
	tests/t/0611-reasons.t \
	tests/t/0612-cancel-member.t \
	tests/t/0615-terminal.t \
	tests/t/0616-events.t \
	tests/t/0617-metrics.t \
	tests/t/0618-grafana.t \
	tests/t/0619-top.t \
	tests/t/0675-pilots.t \
	tests/t/0678-refill.t \
	tests/t/0700-main-job.t \
	tests/t/0710-daemon-killed.t \
	tests/t/0717-ranks-killed.t \
	tests/t/0720-members.t \
	tests/t/0723-checkpoint-languages.t \
	tests/t/0724-checkpoints-killed.t \
	tests/t/0725-resources.t tests/t/0726-distributed.t \
	tests/t/0730-restart.t \
	tests/t/0731-ends-and-starts.t \
	tests/t/0732-run-dir-taken.t \
	tests/t/0734-training-from.t tests/t/0727-unclosed.t tests/t/0728-ddp-cells.t tests/t/0729-learnt.t \
	tests/t/0733-ranks-end.t tests/t/0735-ddp-resized.t tests/t/0737-unfinished-with-training.t \
	tests/t/0738-training-ends-early.t tests/t/0739-training-survives.t tests/t/0749-training-resubmitted.t \
	tests/t/0740-training.t tests/t/0745-training-goes-on.t tests/t/0746-ranks-go-on.t tests/t/0747-ranks-resized.t \
	tests/t/0748-training-disturbed.t \
	tests/t/0741-held.t \
	tests/t/0742-held-killed.t \
	tests/t/0743-missing-steps.t \
	tests/t/0744-training-checkpoints.t \
	tests/t/0752-two-runners.t \
	tests/t/0753-cancelled-anyway.t \
	tests/t/0754-hung.t \
	tests/t/0755-own-fault.t \
	tests/t/0756-rank-stopped.t \
	tests/t/0760-full-disk.t \
	tests/t/0761-full-run-dir.t \
	tests/t/0762-too-large.t \
	tests/t/0764-state-gone.t \
	tests/t/0766-books.t \
	tests/t/0765-full-disk-cancel.t \
	tests/t/0770-verbs.t \
	tests/t/0775-fair-shares.t \
	tests/t/0776-given-up.t \
	tests/t/0777-absent-batch-system.t \
	tests/t/0778-same-failure.t \
	tests/t/0779-why.t \
	tests/t/0780-parameter-files.t \
	tests/t/0781-member-metrics.t \
	tests/t/0782-suggestions.t \
	tests/t/0783-suggestions-killed.t \
	tests/t/0784-suggestions-streamed.t \
	tests/t/0785-follow-ups.t \
	tests/t/0786-families.t tests/t/0788-stages.t \
	tests/t/0790-backup.t \
	tests/t/0795-keep-output.t \
	tests/t/0796-archives.t
TESTS += $(e2e_tests)
dist_check_SCRIPTS += $(e2e_tests)
EXTRA_DIST += tests/t/event_writer.py tests/t/report_check.py tests/t/rung-trial.py tests/t/rungs_check.py \
	tests/t/stop-trial.py tests/t/stop_check.py tests/t/sweep_check.py tests/t/sweep_made.py tests/t/mllog_check.py \
	tests/t/archives.sh tests/t/epochs.sh tests/t/families.sh tests/t/checkpoint-member.py

# What kills, what is killed, and what asks; without sanitizers, since they are loaded into and run by programs of all
# sorts.
check_LTLIBRARIES += tests/t/killer.la
tests_t_killer_la_SOURCES = tests/t/killer.c
tests_t_killer_la_CFLAGS = -std=gnu11 $(WARN_FLAGS) -fno-sanitize=all
tests_t_killer_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
tests_t_killer_la_LIBADD = -ldl
check_LTLIBRARIES += tests/t/flushes.la
tests_t_flushes_la_SOURCES = tests/t/flushes.c
tests_t_flushes_la_CFLAGS = $(tests_t_killer_la_CFLAGS)
tests_t_flushes_la_LDFLAGS = $(tests_t_killer_la_LDFLAGS)
tests_t_flushes_la_LIBADD = -ldl
check_LTLIBRARIES += tests/t/durable.la
tests_t_durable_la_SOURCES = tests/t/durable.c
tests_t_durable_la_CFLAGS = $(tests_t_killer_la_CFLAGS)
tests_t_durable_la_LDFLAGS = $(tests_t_killer_la_LDFLAGS)
tests_t_durable_la_LIBADD = -ldl
# libstretto and libstretto-train for tests of which PyTorch takes most of the time, which it takes twice under a
# sanitizer.
check_LTLIBRARIES += tests/plain/libstretto.la tests/plain/libstretto-train.la
plain_proto = $(libstreamproto_la_SOURCES) $(libckptdir_la_SOURCES) $(libcommon_la_SOURCES)
tests_plain_libstretto_la_SOURCES = $(libmember_la_SOURCES) $(plain_proto)
tests_plain_libstretto_la_CFLAGS = -std=gnu11 $(WARN_FLAGS) -fno-sanitize=all $(JANSSON_CFLAGS) $(ZMQ_CFLAGS) \
	$(XXHASH_CFLAGS)
tests_plain_libstretto_la_LDFLAGS = -avoid-version -shared -rpath /nowhere -export-symbols-regex '^stretto_'
tests_plain_libstretto_la_LIBADD = $(ZMQ_LIBS) $(JANSSON_LIBS) -lpthread
tests_plain_libstretto_train_la_SOURCES = $(libtrain_la_SOURCES) $(libjobproto_la_SOURCES) $(plain_proto)
tests_plain_libstretto_train_la_CFLAGS = $(tests_plain_libstretto_la_CFLAGS)
tests_plain_libstretto_train_la_LDFLAGS = -avoid-version -shared -rpath /nowhere -export-symbols-regex '^stretto_train_'
tests_plain_libstretto_train_la_LIBADD = $(ZMQ_LIBS) $(JANSSON_LIBS) -lpthread
check_PROGRAMS += tests/t/kills-member
tests_t_kills_member_SOURCES = tests/t/kills-member.c
tests_t_kills_member_CFLAGS = -std=gnu11 $(WARN_FLAGS)
tests_t_kills_member_LDFLAGS =
check_PROGRAMS += tests/t/ask
tests_t_ask_SOURCES = tests/t/ask.c
tests_t_ask_CFLAGS = $(tests_t_killer_la_CFLAGS)
tests_t_ask_LDFLAGS =
EXTRA_DIST += tests/stall.py tests/t/chaos.sh tests/t/distributed-rank.py tests/t/cut.py tests/t/ranks-train.py \
	tests/t/goes-on-rank.py tests/t/ddp-rank.py tests/t/ends-rank.py tests/t/accumulates-rank.py tests/t/cells-member.py \
	tests/t/cells-rank.py tests/t/survive-rank.py tests/t/canned.py tests/t/canned.sh tests/t/terminal.py \
	tests/t/pty_session.py
EXTRA_DIST += tests/t/books.py tests/t/damage.py tests/t/durable.py tests/t/kills.sh tests/t/kills.py \
	tests/t/kills_at.py tests/t/kills_books.py tests/t/kills_clients.py
# The fuzzers have a makefile of their own: they are built by clang, from the same sources.
dist_check_SCRIPTS += tests/fuzz/run
EXTRA_DIST += tests/fuzz/fuzz.h tests/fuzz/fuzz.mk tests/fuzz/http.dict tests/fuzz/spec.dict tests/fuzz/corpus \
	tests/fuzz/fuzz_frame.c tests/fuzz/fuzz_http.c tests/fuzz/fuzz_records.c tests/fuzz/fuzz_rows.c \
	tests/fuzz/fuzz_spec.c tests/fuzz/fuzz_template.c tests/fuzz/fuzz_words.c
clean-local: clean-fuzz clean-npm
.PHONY: clean-fuzz clean-npm
clean-npm:
	rm -rf tests/npm
clean-fuzz:
	rm -rf tests/fuzz/obj tests/fuzz/found tests/fuzz/last tests/fuzz/libfuzzed.a tests/fuzz/*.log
	-find tests/fuzz -maxdepth 1 -name 'fuzz_*' ! -name '*.c' -exec rm -f {} +

# The engine on a simulated cluster.
if HAVE_CMOCKA
check_LTLIBRARIES += tests/sim/libsim.la
tests_sim_libsim_la_SOURCES = tests/sim/checkpoints.c tests/sim/cluster.c tests/sim/cluster.h tests/sim/disk.c \
	tests/sim/family.c tests/sim/flights.c tests/sim/generator.c tests/sim/generator.h tests/sim/inbox.c \
	tests/sim/memory.c tests/sim/memory.h tests/sim/pilots.c tests/sim/pilots.h tests/sim/places.c tests/sim/points.c \
	tests/sim/ranks.c tests/sim/refusals.c tests/sim/runners.c tests/sim/rungs.c tests/sim/scheduler.c \
	tests/sim/sim.c tests/sim/sim.h tests/sim/watch.c tests/sim/watch_elastic.c \
	tests/sim/watch_hosts.c tests/sim/watch_late.c tests/sim/watch_pilots.c tests/sim/watch_trainings.c
tests_sim_libsim_la_CFLAGS = $(unit_cflags) $(daemon_cflags)
sim_libs = tests/sim/libsim.la libdaemon.la $(unit_libs)

unit_tests += tests/unit/test_next_state
tests_unit_test_next_state_SOURCES = tests/unit/test_next_state.c tests/unit/unit.h
tests_unit_test_next_state_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_next_state_LDADD = $(sim_libs)

unit_tests += tests/unit/test_job_event
tests_unit_test_job_event_SOURCES = tests/unit/test_job_event.c tests/unit/unit.h
tests_unit_test_job_event_CFLAGS = $(unit_cflags)
tests_unit_test_job_event_LDADD = $(unit_libs)

unit_tests += tests/unit/test_training_event
tests_unit_test_training_event_SOURCES = tests/unit/test_training_event.c tests/unit/unit.h
tests_unit_test_training_event_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_training_event_LDADD = $(unit_libs)

unit_tests += tests/unit/test_engine_sim
tests_unit_test_engine_sim_SOURCES = tests/unit/test_engine_sim.c tests/unit/sparse_log.c tests/unit/unit.h \
	tests/sim/specs.c tests/sim/specs.h \
	tests/sim/users.c tests/sim/users.h
tests_unit_test_engine_sim_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_sim_LDADD = $(sim_libs)

unit_tests += tests/unit/test_engine_silence
tests_unit_test_engine_silence_SOURCES = tests/unit/test_engine_silence.c tests/unit/unit.h
tests_unit_test_engine_silence_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_silence_LDADD = $(sim_libs)

unit_tests += tests/unit/test_engine_schedule
tests_unit_test_engine_schedule_SOURCES = tests/unit/test_engine_schedule.c tests/unit/unit.h
tests_unit_test_engine_schedule_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_schedule_LDADD = $(sim_libs)

unit_tests += tests/unit/test_engine_elastic
tests_unit_test_engine_elastic_SOURCES = tests/unit/test_engine_elastic.c tests/unit/unit.h
tests_unit_test_engine_elastic_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_elastic_LDADD = $(sim_libs)

unit_tests += tests/unit/test_engine_notice
tests_unit_test_engine_notice_SOURCES = tests/unit/test_engine_notice.c tests/unit/unit.h
tests_unit_test_engine_notice_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_notice_LDADD = $(sim_libs)

unit_tests += tests/unit/test_engine_moments
tests_unit_test_engine_moments_SOURCES = tests/unit/test_engine_moments.c tests/unit/unit.h
tests_unit_test_engine_moments_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_moments_LDADD = $(sim_libs)

unit_tests += tests/unit/test_engine_turns
tests_unit_test_engine_turns_SOURCES = tests/unit/test_engine_turns.c tests/unit/unit.h
tests_unit_test_engine_turns_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_turns_LDADD = $(sim_libs)

unit_tests += tests/unit/test_engine_allocations
tests_unit_test_engine_allocations_SOURCES = tests/unit/test_engine_allocations.c tests/unit/engine_case.c \
	tests/unit/engine_case.h tests/unit/unit.h
tests_unit_test_engine_allocations_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_allocations_LDADD = $(sim_libs)
unit_tests += tests/unit/test_engine_generations
tests_unit_test_engine_generations_SOURCES = tests/unit/test_engine_generations.c tests/unit/engine_case.c \
	tests/unit/engine_case.h tests/unit/unit.h
tests_unit_test_engine_generations_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_generations_LDADD = $(sim_libs)
unit_tests += tests/unit/test_engine_places
tests_unit_test_engine_places_SOURCES = tests/unit/test_engine_places.c tests/unit/engine_case.c \
	tests/unit/engine_case.h tests/unit/unit.h
tests_unit_test_engine_places_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_places_LDADD = $(sim_libs)
unit_tests += tests/unit/test_engine_clock
tests_unit_test_engine_clock_SOURCES = tests/unit/test_engine_clock.c tests/unit/engine_case.c \
	tests/unit/engine_case.h tests/unit/unit.h
tests_unit_test_engine_clock_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_clock_LDADD = $(sim_libs)
unit_tests += tests/unit/test_engine_lost
tests_unit_test_engine_lost_SOURCES = tests/unit/test_engine_lost.c tests/unit/engine_case.c tests/unit/engine_case.h \
	tests/unit/unit.h
tests_unit_test_engine_lost_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_lost_LDADD = $(sim_libs)
unit_tests += tests/unit/test_engine_refused
tests_unit_test_engine_refused_SOURCES = tests/unit/test_engine_refused.c tests/unit/engine_case.c \
	tests/unit/engine_case.h tests/unit/unit.h
tests_unit_test_engine_refused_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_refused_LDADD = $(sim_libs)
unit_tests += tests/unit/test_engine_feed
tests_unit_test_engine_feed_SOURCES = tests/unit/test_engine_feed.c tests/unit/engine_case.c tests/unit/engine_case.h \
	tests/unit/unit.h
tests_unit_test_engine_feed_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_feed_LDADD = $(sim_libs)

check_PROGRAMS += tests/bench/engine-million tests/bench/engine-rungs
tests_bench_engine_rungs_SOURCES = tests/bench/engine_rungs.c
tests_bench_engine_rungs_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_bench_engine_rungs_LDADD = $(sim_libs)
tests_bench_engine_million_SOURCES = tests/bench/engine_million.c
tests_bench_engine_million_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_bench_engine_million_LDADD = $(sim_libs)

# The same on a store whose disk and memory fail.
unit_tests += tests/unit/test_engine_faults
tests_unit_test_engine_faults_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_engine_faults_LDADD = tests/sim/libfaults.la $(sim_libs)
endif

EXTRA_DIST += tests/call_circle.py tests/shared_names.py tests/struct_sizes.py

# What benchmarks need; built by hand: make tests/bench/fill_members
EXTRA_PROGRAMS += tests/bench/fill_members tests/bench/append-member
tests_bench_append_member_SOURCES = tests/bench/append_member.c
EXTRA_DIST += tests/bench/million.py tests/bench/disturbed.py
tests_bench_fill_members_SOURCES = tests/bench/fill_members.c
tests_bench_fill_members_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(daemon_cflags)
tests_bench_fill_members_LDADD = libdaemon.la libcommon.la $(JANSSON_LIBS)

EXTRA_DIST += tests/bench/buffer.sh tests/bench/loader.sh tests/bench/loader_bench.py tests/bench/checkpoint.sh \
	tests/bench/checkpoint_bench.py tests/bench/gpu.sh tests/bench/gpu_bench.py tests/bench/recovery.sh \
	tests/bench/recovery_kills.py tests/bench/recovery_rank.py tests/bench/resize.sh tests/bench/stream.sh \
	tests/bench/stream-memory.sh

# Programs of the benchmarks (tests/bench/run), built with the tests so that they cannot rot.
check_PROGRAMS += tests/bench/stream_bench tests/bench/stream_hold tests/bench/buffer_bench tests/bench/metrics_bench
tests_bench_metrics_bench_SOURCES = tests/bench/metrics_bench.c
tests_bench_metrics_bench_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_bench_metrics_bench_LDADD = $(SQLITE_LIBS)
stream_rig = tests/bench/stream_rig.c tests/bench/stream_rig.h
tests_bench_stream_bench_SOURCES = tests/bench/stream_bench.c $(stream_rig)
tests_bench_stream_bench_CFLAGS = $(AM_CFLAGS) $(ZMQ_CFLAGS) $(JANSSON_CFLAGS)
tests_bench_stream_bench_LDADD = libtrain.la libmember.la $(ZMQ_LIBS) $(JANSSON_LIBS) -lpthread
tests_bench_stream_hold_SOURCES = tests/bench/stream_hold.c $(stream_rig)
tests_bench_stream_hold_CFLAGS = $(AM_CFLAGS) $(ZMQ_CFLAGS) $(JANSSON_CFLAGS)
tests_bench_stream_hold_LDADD = libtrain.la libmember.la $(ZMQ_LIBS) $(JANSSON_LIBS) -lpthread
tests_bench_buffer_bench_SOURCES = tests/bench/buffer_bench.c
tests_bench_buffer_bench_CFLAGS = $(AM_CFLAGS) $(ZMQ_CFLAGS) $(JANSSON_CFLAGS)
tests_bench_buffer_bench_LDADD = libtrain.la $(ZMQ_LIBS) -lpthread
