bin_PROGRAMS += stretto-run
stretto_run_SOURCES = tasks/runner/main.c
# Unit tests take of it what they try.
noinst_LTLIBRARIES += librunner.la
librunner_la_SOURCES = \
	tasks/runner/answer.c tasks/runner/answer.h \
	tasks/runner/aside.c tasks/runner/aside.h \
	tasks/runner/artefacts.c tasks/runner/artefacts.h \
	tasks/runner/checkpoints.c tasks/runner/checkpoints.h \
	tasks/runner/copies.c tasks/runner/copies.h \
	tasks/runner/cpus.c tasks/runner/cpus.h \
	tasks/runner/deadline.c tasks/runner/deadline.h \
	tasks/runner/done.c tasks/runner/done.h \
	tasks/runner/ending.c tasks/runner/ending.h \
	tasks/runner/environment.c tasks/runner/environment.h \
	tasks/runner/event_files.c tasks/runner/event_files.h \
	tasks/runner/event_record.c tasks/runner/event_record.h \
	tasks/runner/hosts.c tasks/runner/hosts.h \
	tasks/runner/leftovers.c tasks/runner/leftovers.h \
	tasks/runner/looker.c tasks/runner/looker.h \
	tasks/runner/looks.c tasks/runner/looks.h \
	tasks/runner/machine.c tasks/runner/machine.h \
	tasks/runner/metric_csv.c tasks/runner/metric_csv.h \
	tasks/runner/metric_file.c tasks/runner/metric_file.h \
	tasks/runner/metric_line.c tasks/runner/metric_line.h \
	tasks/runner/metric_rotated.c tasks/runner/metric_rotated.h \
	tasks/runner/metrics.c tasks/runner/metrics.h \
	tasks/runner/oom.c tasks/runner/oom.h \
	tasks/runner/pattern.c tasks/runner/pattern.h \
	tasks/runner/pilot.c tasks/runner/pilot.h tasks/runner/pilot_jobs.c tasks/runner/pilot_journal.c \
	tasks/runner/pilot_launch.c \
	tasks/runner/port.c tasks/runner/port.h \
	tasks/runner/program.c tasks/runner/program.h \
	tasks/runner/ran.c tasks/runner/ran.h \
	tasks/runner/rank.c tasks/runner/rank.h \
	tasks/runner/reading.c tasks/runner/reading.h \
	tasks/runner/records.c tasks/runner/records.h \
	tasks/runner/restarts.c tasks/runner/restarts.h \
	tasks/runner/rendezvous.c tasks/runner/rendezvous.h \
	tasks/runner/results.c \
	tasks/runner/run.c tasks/runner/run.h \
	tasks/runner/runlog.c tasks/runner/runlog.h \
	tasks/runner/shell.c tasks/runner/shell.h \
	tasks/runner/signals.c tasks/runner/signals.h \
	tasks/runner/silence.c tasks/runner/silence.h \
	tasks/runner/starter.c tasks/runner/starter.h \
	tasks/runner/task.c tasks/runner/task.h tasks/runner/task_start.c \
	tasks/runner/tree.c tasks/runner/tree.h \
	tasks/runner/watch.c tasks/runner/watch.h
stretto_run_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(SODIUM_CFLAGS)
librunner_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(SODIUM_CFLAGS)
librunner_la_LIBADD = $(SODIUM_LIBS)
stretto_run_LDADD = librunner.la libjobproto.la libcommon.la $(JANSSON_LIBS) -lpthread
# Symbols are looked up once, when the starter starts, and not again in each of its copies.
stretto_run_LDFLAGS = -static -Wl,-z,now $(AM_LDFLAGS)

TESTS += tests/t/0400-runner.t tests/t/0401-leftovers.t tests/t/0402-silence.t tests/t/0403-pilot.t \
	tests/t/0404-warned.t \
	tests/t/0405-journal.t tests/t/0406-copies.t tests/t/0407-rungs.t tests/t/0408-pilot-starts.t
dist_check_SCRIPTS += tests/t/0400-runner.t tests/t/0401-leftovers.t tests/t/0402-silence.t tests/t/0403-pilot.t \
	tests/t/0404-warned.t \
	tests/t/0405-journal.t tests/t/0406-copies.t tests/t/0407-rungs.t tests/t/0408-pilot-starts.t

if HAVE_CMOCKA
unit_tests += tests/unit/test_cpus
tests_unit_test_cpus_SOURCES = tests/unit/test_cpus.c
tests_unit_test_cpus_CFLAGS = $(unit_cflags)
tests_unit_test_cpus_LDADD = librunner.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_metrics
tests_unit_test_metrics_SOURCES = tests/unit/test_metrics.c
tests_unit_test_metrics_CFLAGS = $(unit_cflags)
tests_unit_test_metrics_LDADD = librunner.la libjobproto.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_metric_lines
tests_unit_test_metric_lines_SOURCES = tests/unit/test_metric_lines.c
tests_unit_test_metric_lines_CFLAGS = $(unit_cflags)
tests_unit_test_metric_lines_LDADD = librunner.la libjobproto.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_events
tests_unit_test_events_SOURCES = tests/unit/test_events.c
tests_unit_test_events_CFLAGS = $(unit_cflags)
tests_unit_test_events_LDADD = librunner.la libjobproto.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_hosts
tests_unit_test_hosts_SOURCES = tests/unit/test_hosts.c
tests_unit_test_hosts_CFLAGS = $(unit_cflags)
tests_unit_test_hosts_LDADD = librunner.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_oom
tests_unit_test_oom_SOURCES = tests/unit/test_oom.c
tests_unit_test_oom_CFLAGS = $(unit_cflags)
tests_unit_test_oom_LDADD = librunner.la $(unit_libs)
runner_rig_sources = tests/unit/runner_rig.c tests/unit/runner_rig.h
unit_tests += tests/unit/test_runner_time
tests_unit_test_runner_time_SOURCES = tests/unit/test_runner_time.c $(runner_rig_sources)
tests_unit_test_runner_time_CFLAGS = $(unit_cflags)
tests_unit_test_runner_time_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=exitrec_write -Wl,--wrap=pthread_create \
	-Wl,--wrap=control_nudge
tests_unit_test_runner_time_LDADD = librunner.la libjobproto.la $(unit_libs)
unit_tests += tests/unit/test_runner_ends
tests_unit_test_runner_ends_SOURCES = tests/unit/test_runner_ends.c $(runner_rig_sources)
tests_unit_test_runner_ends_CFLAGS = $(unit_cflags)
tests_unit_test_runner_ends_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=exitrec_write -Wl,--wrap=pthread_create \
	-Wl,--wrap=control_nudge
tests_unit_test_runner_ends_LDADD = librunner.la libjobproto.la $(unit_libs)
unit_tests += tests/unit/test_runner_left
tests_unit_test_runner_left_SOURCES = tests/unit/test_runner_left.c $(runner_rig_sources)
tests_unit_test_runner_left_CFLAGS = $(unit_cflags)
tests_unit_test_runner_left_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=exitrec_write -Wl,--wrap=pthread_create \
	-Wl,--wrap=control_nudge
tests_unit_test_runner_left_LDADD = librunner.la libjobproto.la $(unit_libs)
unit_tests += tests/unit/test_pilot_time
tests_unit_test_pilot_time_SOURCES = tests/unit/test_pilot_time.c
tests_unit_test_pilot_time_CFLAGS = $(unit_cflags)
tests_unit_test_pilot_time_LDADD = librunner.la libjobproto.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_launched_copies
tests_unit_test_launched_copies_SOURCES = tests/unit/test_launched_copies.c
tests_unit_test_launched_copies_CFLAGS = $(unit_cflags)
tests_unit_test_launched_copies_LDADD = librunner.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_looks
tests_unit_test_looks_SOURCES = tests/unit/test_looks.c
tests_unit_test_looks_CFLAGS = $(unit_cflags)
tests_unit_test_looks_LDADD = librunner.la libjobproto.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_silence
tests_unit_test_silence_SOURCES = tests/unit/test_silence.c
tests_unit_test_silence_CFLAGS = $(unit_cflags)
tests_unit_test_silence_LDADD = librunner.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_tree
tests_unit_test_tree_SOURCES = tests/unit/test_tree.c
tests_unit_test_tree_CFLAGS = $(unit_cflags)
tests_unit_test_tree_LDADD = librunner.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_looker
tests_unit_test_looker_SOURCES = tests/unit/test_looker.c
tests_unit_test_looker_CFLAGS = $(unit_cflags)
tests_unit_test_looker_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pthread_create
tests_unit_test_looker_LDADD = librunner.la libcommon.la libckptdir.la $(unit_libs) -lpthread
unit_tests += tests/unit/test_runner_main
tests_unit_test_runner_main_SOURCES = tests/unit/test_runner_main.c
tests_unit_test_runner_main_CFLAGS = $(unit_cflags)
tests_unit_test_runner_main_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dir_make -Wl,--wrap=claim_make -Wl,--wrap=rank_guard
tests_unit_test_runner_main_LDADD = librunner.la libjobproto.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_artefacts
tests_unit_test_artefacts_SOURCES = tests/unit/test_artefacts.c
tests_unit_test_artefacts_CFLAGS = $(unit_cflags)
tests_unit_test_artefacts_LDADD = librunner.la libjobproto.la libcommon.la $(unit_libs) -lpthread
unit_tests += tests/unit/test_tree_below
tests_unit_test_tree_below_SOURCES = tests/unit/test_tree_below.c
tests_unit_test_tree_below_CFLAGS = $(unit_cflags)
tests_unit_test_tree_below_LDADD = librunner.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_rank
tests_unit_test_rank_SOURCES = tests/unit/test_rank.c
tests_unit_test_rank_CFLAGS = $(unit_cflags)
tests_unit_test_rank_LDADD = librunner.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_records
tests_unit_test_records_SOURCES = tests/unit/test_records.c
tests_unit_test_records_CFLAGS = $(unit_cflags)
tests_unit_test_records_LDADD = librunner.la $(unit_libs)
unit_tests += tests/unit/test_task
tests_unit_test_task_SOURCES = tests/unit/test_task.c
tests_unit_test_task_CFLAGS = $(unit_cflags)
tests_unit_test_task_LDADD = librunner.la libjobproto.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_task_start
tests_unit_test_task_start_SOURCES = tests/unit/test_task_start.c
tests_unit_test_task_start_CFLAGS = $(unit_cflags)
tests_unit_test_task_start_LDADD = librunner.la libjobproto.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_task_told
tests_unit_test_task_told_SOURCES = tests/unit/test_task_told.c
tests_unit_test_task_told_CFLAGS = $(unit_cflags)
tests_unit_test_task_told_LDADD = librunner.la libjobproto.la libcommon.la $(unit_libs)
unit_tests += tests/unit/test_program
tests_unit_test_program_SOURCES = tests/unit/test_program.c
tests_unit_test_program_CFLAGS = $(unit_cflags)
tests_unit_test_program_LDADD = librunner.la libcommon.la $(unit_libs)
endif
