noinst_LTLIBRARIES += libdaemon.la
libdaemon_la_SOURCES = \
	daemon/adapters.c daemon/adapters.h \
	daemon/config.c daemon/config.h \
	daemon/control.c daemon/control.h \
	daemon/engine/engine.c daemon/engine/engine.h \
	daemon/engine/ensembles/adopt.c daemon/engine/ensembles/adopt.h \
	daemon/engine/ensembles/after.c daemon/engine/ensembles/after.h \
	daemon/engine/ensembles/check_rules.c daemon/engine/ensembles/check_rules.h \
	daemon/engine/ensembles/dispatch.c daemon/engine/ensembles/dispatch.h \
	daemon/engine/ensembles/elastic_change.c daemon/engine/ensembles/elastic_change.h \
	daemon/engine/ensembles/end.c daemon/engine/ensembles/end.h \
	daemon/engine/ensembles/follow_up.c daemon/engine/ensembles/follow_up.h \
	daemon/engine/ensembles/give_places.c daemon/engine/ensembles/give_places.h \
	daemon/engine/ensembles/guard.c daemon/engine/ensembles/guard.h \
	daemon/engine/ensembles/handover.c daemon/engine/ensembles/handover.h \
	daemon/engine/ensembles/make_jobs.c daemon/engine/ensembles/make_jobs.h \
	daemon/engine/ensembles/open.c \
	daemon/engine/ensembles/pause.c daemon/engine/ensembles/pause.h \
	daemon/engine/ensembles/pilot_wants.c daemon/engine/ensembles/pilot_wants.h \
	daemon/engine/ensembles/resize.c daemon/engine/ensembles/resize.h \
	daemon/engine/ensembles/resubmit.c \
	daemon/engine/ensembles/schedule.c daemon/engine/ensembles/schedule.h \
	daemon/engine/ensembles/submit.c \
	daemon/engine/ensembles/takers.c daemon/engine/ensembles/takers.h \
	daemon/engine/ensembles/training_resubmit.c \
	daemon/engine/jobs/abandon.c daemon/engine/jobs/abandon.h \
	daemon/engine/jobs/adapter_jobs.c daemon/engine/jobs/adapter_jobs.h \
	daemon/engine/jobs/cancel.c daemon/engine/jobs/cancel.h \
	daemon/engine/jobs/check_resources.c daemon/engine/jobs/check_resources.h \
	daemon/engine/jobs/collect.c daemon/engine/jobs/collect.h \
	daemon/engine/jobs/duplicates.c daemon/engine/jobs/duplicates.h \
	daemon/engine/jobs/feed.c daemon/engine/jobs/feed.h \
	daemon/engine/jobs/hosts.c daemon/engine/jobs/hosts.h \
	daemon/engine/jobs/job_life.c daemon/engine/jobs/job_life.h \
	daemon/engine/jobs/job_news.c daemon/engine/jobs/job_news.h \
	daemon/engine/jobs/pilot_inbox.c daemon/engine/jobs/pilot_inbox.h \
	daemon/engine/jobs/pilot_journal.c daemon/engine/jobs/pilot_journal.h \
	daemon/engine/jobs/pilot_life.c daemon/engine/jobs/pilot_life.h \
	daemon/engine/jobs/plan.c daemon/engine/jobs/plan.h \
	daemon/engine/jobs/plan_tasks.c daemon/engine/jobs/plan_tasks.h \
	daemon/engine/jobs/poll.c daemon/engine/jobs/poll.h \
	daemon/engine/jobs/precedent.c daemon/engine/jobs/precedent.h \
	daemon/engine/jobs/save.c daemon/engine/jobs/save.h \
	daemon/engine/jobs/waiting.c daemon/engine/jobs/waiting.h \
	daemon/engine/load.c daemon/engine/load.h \
	daemon/engine/members/artefacts.c daemon/engine/members/artefacts.h \
	daemon/engine/members/bulk.c daemon/engine/members/bulk.h \
	daemon/engine/members/cancel_member.c daemon/engine/members/cancel_member.h \
	daemon/engine/members/next_state.c daemon/engine/members/next_state.h \
	daemon/engine/members/outcome.c daemon/engine/members/outcome.h \
	daemon/engine/members/progress.c daemon/engine/members/progress.h \
	daemon/engine/members/rungs.c daemon/engine/members/rungs.h \
	daemon/engine/members/stop_only.c daemon/engine/members/stop_only.h \
	daemon/engine/members/youngest.c daemon/engine/members/youngest.h \
	daemon/engine/memory/adapter_state.c daemon/engine/memory/adapter_state.h \
	daemon/engine/memory/alarm.c daemon/engine/memory/alarm.h \
	daemon/engine/memory/core.c daemon/engine/memory/core.h \
	daemon/engine/memory/elastic.c daemon/engine/memory/elastic.h \
	daemon/engine/memory/elastic_decide.c \
	daemon/engine/memory/ensemble.c daemon/engine/memory/ensemble.h \
	daemon/engine/memory/facts.c daemon/engine/memory/facts.h \
	daemon/engine/memory/job.c daemon/engine/memory/job.h \
	daemon/engine/memory/job_event.c daemon/engine/memory/job_event.h \
	daemon/engine/memory/live_spec.c daemon/engine/memory/live_spec.h \
	daemon/engine/memory/paths.c daemon/engine/memory/paths.h \
	daemon/engine/memory/pilot_size.c daemon/engine/memory/pilot_size.h \
	daemon/engine/memory/places.c daemon/engine/memory/places.h \
	daemon/engine/memory/polls.c daemon/engine/memory/polls.h \
	daemon/engine/memory/rows.c daemon/engine/memory/rows.h \
	daemon/engine/memory/slot.c daemon/engine/memory/slot.h \
	daemon/engine/memory/training.c daemon/engine/memory/training.h \
	daemon/engine/memory/training_event.c daemon/engine/memory/training_event.h \
	daemon/engine/memory/waits.c daemon/engine/memory/waits.h \
	daemon/engine/notice.c \
	daemon/engine/settle.c daemon/engine/settle.h \
	daemon/engine/trainings/early.c daemon/engine/trainings/early.h \
	daemon/engine/trainings/missing.c daemon/engine/trainings/missing.h \
	daemon/engine/trainings/moments.c daemon/engine/trainings/moments.h \
	daemon/engine/trainings/ranks.c daemon/engine/trainings/ranks.h \
	daemon/engine/trainings/reclaim.c daemon/engine/trainings/reclaim.h \
	daemon/engine/trainings/renew.c daemon/engine/trainings/renew.h \
	daemon/engine/trainings/training_checkpoints.c daemon/engine/trainings/training_checkpoints.h \
	daemon/engine/trainings/training_end.c daemon/engine/trainings/training_end.h \
	daemon/engine/trainings/training_from.c daemon/engine/trainings/training_from.h \
	daemon/engine/trainings/training_life.c daemon/engine/trainings/training_life.h \
	daemon/engine/trainings/training_resize.c daemon/engine/trainings/training_resize.h \
	daemon/engine/trainings/training_tell.c daemon/engine/trainings/training_tell.h \
	tasks/proto/attempt_end.h \
	daemon/engine/memory/job_scheduler.h \
	daemon/engine/memory/pilot.h \
	daemon/engine/ports.h \
	daemon/flusher.c daemon/flusher.h \
	daemon/loop_latency.c daemon/loop_latency.h \
	daemon/limits.c daemon/limits.h \
	daemon/logs.c daemon/logs.h \
	daemon/notify.c daemon/notify.h \
	daemon/archive.c daemon/archive.h \
	daemon/prune.c daemon/prune.h \
	daemon/python.c daemon/python.h \
	daemon/restore.c daemon/restore.h \
	daemon/run_books.c daemon/run_books.h \
	daemon/run_claim.c daemon/run_claim.h \
	daemon/run_mark.c daemon/run_mark.h \
	daemon/rundir/missing.c daemon/rundir/missing.h \
	daemon/rundir/own_files.c daemon/rundir/own_files.h \
	daemon/rundir/archive_file.c daemon/rundir/archive_file.h \
	daemon/rundir/archiving.c daemon/rundir/archiving.h \
	daemon/rundir/rundir.c daemon/rundir/rundir.h \
	daemon/rundir/tails.c daemon/rundir/tails.h \
	daemon/rundir/adopt.c daemon/rundir/adopt.h daemon/rundir/whole.c daemon/rundir/whole.h \
	daemon/spec/csv.c daemon/spec/csv.h \
	daemon/spec/draw.c daemon/spec/draw.h \
	daemon/spec/exclude.c daemon/spec/exclude.h \
	daemon/spec/ingest.c daemon/spec/ingest.h \
	daemon/spec/internal.h \
	daemon/spec/npy.c daemon/spec/npy.h \
	daemon/spec/npz.c daemon/spec/npz.h \
	daemon/spec/pickled.c daemon/spec/pickled.h \
	daemon/spec/number.c daemon/spec/number.h \
	daemon/spec/params.c daemon/spec/params.h \
	daemon/spec/remains.c daemon/spec/remains.h \
	daemon/spec/rows.c daemon/spec/rows.h \
	daemon/spec/rows_writer.c \
	daemon/spec/sizes.c daemon/spec/sizes.h \
	daemon/spec/source.c daemon/spec/source.h \
	daemon/spec/spec.c daemon/spec/spec.h \
	daemon/spec/spec_allocation.c \
	daemon/spec/spec_checkpoint.c \
	daemon/spec/paths.h daemon/spec/spec_path.c \
	daemon/spec/results.h daemon/spec/spec_results.c \
	daemon/spec/rules.c daemon/spec/rules.h daemon/spec/rules_params.c \
	daemon/spec/spec_elastic.c \
	daemon/spec/spec_after.c \
	daemon/spec/spec_follow_up.c \
	daemon/spec/spec_home.c \
	daemon/spec/spec_metrics.c \
	daemon/spec/spec_stopping.c \
	daemon/spec/spec_resubmit.c \
	daemon/spec/needs.c daemon/spec/needs.h \
	daemon/spec/spec_task.c \
	daemon/spec/spec_training.c \
	daemon/spec/suggestion.c daemon/spec/suggestion.h \
	daemon/spec/template.c daemon/spec/template.h \
	daemon/spec/value.c daemon/spec/value.h \
	daemon/store/attempt.c daemon/store/attempt.h \
	daemon/store/backup.c daemon/store/backup.h \
	daemon/store/cancellation.c daemon/store/cancellation.h \
	daemon/store/cause.c daemon/store/cause.h \
	daemon/store/bulk.c daemon/store/bulk.h \
	daemon/store/checkpoint.c daemon/store/checkpoint.h \
	daemon/store/ensemble.c daemon/store/ensemble.h \
	daemon/store/ensemble_order.c daemon/store/ensemble_order.h \
	daemon/store/damage.c \
	daemon/store/event.c daemon/store/event.h \
	daemon/store/extent.c daemon/store/extent.h \
	daemon/store/family.c daemon/store/family.h \
	daemon/store/gather.c daemon/store/gather.h \
	daemon/store/idempotency.c daemon/store/idempotency.h \
	daemon/store/internal.h \
	daemon/store/job.c daemon/store/job.h \
	daemon/store/log_check.c daemon/store/log_check.h \
	daemon/store/member.c daemon/store/member.h \
	daemon/store/member_change.c \
	daemon/store/member_checkpoint.c daemon/store/member_checkpoint.h \
	daemon/store/artefact.c daemon/store/artefact.h \
	daemon/store/metric.c \
	daemon/store/generation.c daemon/store/generation.h \
	daemon/store/elastic.c daemon/store/elastic.h \
	daemon/store/moment.c daemon/store/moment.h \
	daemon/store/migrate.c \
	daemon/store/archived.c daemon/store/archived.h \
	daemon/store/parameter_rows.c daemon/store/parameter_rows.h \
	daemon/store/place.c daemon/store/place.h \
	daemon/store/presence.c \
	daemon/store/retain.c daemon/store/retain.h \
	daemon/store/room.c \
	daemon/store/ran.c daemon/store/ran.h \
	daemon/store/rung.c daemon/store/rung.h \
	daemon/store/chunk.c daemon/store/chunk.h daemon/store/series.c daemon/store/series.h \
	daemon/store/session.c daemon/store/session.h \
	daemon/store/statement.c \
	daemon/store/suggestion.c daemon/store/suggestion.h \
	daemon/store/store.c daemon/store/store.h \
	daemon/store/tally.c \
	daemon/store/token.c daemon/store/token.h \
	daemon/store/training.c daemon/store/training.h \
	daemon/store/training_checkpoint.c daemon/store/training_checkpoint.h \
	daemon/store/transaction.c \
	daemon/state_watch.c daemon/state_watch.h \
	daemon/sweep.c daemon/sweep.h \
	daemon/turn.c daemon/turn.h \
	daemon/unarchive.c daemon/unarchive.h
nodist_libdaemon_la_SOURCES = migrations/embedded.c
libdaemon_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DSTRETTO_BINDIR='"$(bindir)"' -DSTRETTO_EXAMPLEDIR='"$(exampledir)"' -DSTRETTO_PYTHONDIR='"$(pkgdatadir)/python"' \
	-DSTRETTO_PLUGINDIR='"$(plugindir)"'
daemon_cflags = $(AM_CFLAGS) $(LIBZIP_CFLAGS) $(XXHASH_CFLAGS) $(JANSSON_CFLAGS) $(UV_CFLAGS) $(SQLITE_CFLAGS) \
	$(SODIUM_CFLAGS)
libdaemon_la_CFLAGS = $(daemon_cflags)
libdaemon_la_LIBADD = libadapters.la libjobproto.la libcommon.la $(JANSSON_LIBS) $(UV_LIBS) $(SQLITE_LIBS) \
	$(SODIUM_LIBS) $(LIBZIP_LIBS)

# The program is put together here: api/ stands above daemon/, and only the composition root knows both.
bin_PROGRAMS += strettod
strettod_SOURCES = daemon/main.c daemon/app.c daemon/app.h
strettod_CFLAGS = $(daemon_cflags) $(MHD_CFLAGS)
strettod_LDADD = libapi.la libdaemon.la
strettod_LDFLAGS = $(AM_LDFLAGS) -static

# The unit for systemctl --user.
EXTRA_DIST += daemon/strettod.service.in
CLEANFILES += daemon/strettod.service
daemon/strettod.service: daemon/strettod.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) daemon && sed 's|@bindir[@]|$(bindir)|g' $(srcdir)/daemon/strettod.service.in > $@.tmp && \
		mv $@.tmp $@
if HAVE_SYSTEMD_UNIT
systemduserunit_DATA = daemon/strettod.service
endif

if HAVE_CMOCKA
unit_tests += tests/unit/test_control tests/unit/test_ingest tests/unit/test_needs tests/unit/test_spec \
	tests/unit/test_params tests/unit/test_store tests/unit/test_turn tests/unit/test_checkpoint \
	tests/unit/test_store_faults tests/unit/test_open_faults tests/unit/test_family tests/unit/test_forget \
	tests/unit/test_gather tests/unit/test_log_check tests/unit/test_metric tests/unit/test_store_series \
	tests/unit/test_rungs tests/unit/test_migrate tests/unit/test_missing \
	tests/unit/test_archive tests/unit/test_archiving tests/unit/test_restore tests/unit/test_rundir \
	tests/unit/test_run_claim tests/unit/test_spec_whole tests/unit/test_store_lists tests/unit/test_store_rows \
	tests/unit/test_store_output tests/unit/test_store_course tests/unit/test_store_sorted tests/unit/test_sweep \
	tests/unit/test_training_checkpoints tests/unit/test_results tests/unit/test_rules tests/unit/test_exclude \
	tests/unit/test_npz tests/unit/test_spec_parts tests/unit/test_spec_bounds tests/unit/test_config \
	tests/unit/test_archive_steps tests/unit/test_notify tests/unit/test_daemon_parts tests/unit/test_store_seldom
tests_unit_test_daemon_parts_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_daemon_parts_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_archive_steps_SOURCES = tests/unit/test_archive_steps.c tests/unit/virtual_uv.c tests/unit/virtual_uv.h
tests_unit_test_archive_steps_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_archive_steps_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_notify_SOURCES = tests/unit/test_notify.c tests/unit/virtual_uv.c tests/unit/virtual_uv.h
tests_unit_test_notify_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_notify_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_config_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_config_CPPFLAGS = $(libdaemon_la_CPPFLAGS)
tests_unit_test_config_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_spec_bounds_SOURCES = tests/unit/test_spec_bounds.c tests/unit/spec_cases.h
tests_unit_test_spec_bounds_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_spec_bounds_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_spec_parts_SOURCES = tests/unit/test_spec_parts.c tests/unit/spec_cases.h
tests_unit_test_spec_parts_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_spec_parts_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_rules_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_rules_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_exclude_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_exclude_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_npz_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_npz_LDADD = libdaemon.la $(unit_libs) $(LIBZIP_LIBS)
tests_unit_test_results_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_results_LDADD = libdaemon.la $(unit_libs)
open_store = tests/unit/open_store.c tests/unit/open_store.h
tests_unit_test_training_checkpoints_SOURCES = tests/unit/test_training_checkpoints.c $(open_store)
tests_unit_test_training_checkpoints_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_training_checkpoints_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_store_seldom_SOURCES = tests/unit/test_store_seldom.c $(open_store)
tests_unit_test_store_seldom_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_store_seldom_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_store_output_SOURCES = tests/unit/test_store_output.c $(open_store)
tests_unit_test_store_output_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_store_output_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_store_course_SOURCES = tests/unit/test_store_course.c tests/unit/store_course_later.c \
	tests/unit/store_course_later.h $(open_store)
tests_unit_test_store_course_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_store_course_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_store_rows_SOURCES = tests/unit/test_store_rows.c $(open_store)
tests_unit_test_store_rows_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_store_rows_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_store_sorted_SOURCES = tests/unit/test_store_sorted.c $(open_store)
tests_unit_test_store_sorted_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_store_sorted_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_store_lists_SOURCES = tests/unit/test_store_lists.c $(open_store)
tests_unit_test_store_lists_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_store_lists_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_spec_whole_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_spec_whole_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_run_claim_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_run_claim_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_archive_SOURCES = tests/unit/test_archive.c $(open_store) tests/unit/virtual_uv.c \
	tests/unit/virtual_uv.h
tests_unit_test_archive_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_archive_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_archiving_SOURCES = tests/unit/test_archiving.c tests/unit/failing_disk.c tests/unit/failing_disk.h
tests_unit_test_archiving_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_archiving_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_sweep_SOURCES = tests/unit/test_sweep.c tests/unit/virtual_uv.c tests/unit/virtual_uv.h
tests_unit_test_sweep_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_sweep_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_restore_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_restore_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_rundir_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_rundir_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_migrate_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_migrate_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_missing_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_missing_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_rungs_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_rungs_LDADD = libdaemon.la $(unit_libs) -lm
tests_unit_test_store_series_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_store_series_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_metric_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_metric_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_family_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_family_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_control_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_control_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=geteuid
tests_unit_test_control_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_ingest_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_ingest_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_needs_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_needs_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_spec_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_spec_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_params_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_params_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_forget_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_forget_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_store_SOURCES = tests/unit/test_store.c tests/unit/store_members.c tests/unit/store_members.h
tests_unit_test_store_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_store_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_checkpoint_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_checkpoint_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_turn_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_turn_LDADD = tests/sim/libfaults.la libdaemon.la $(unit_libs)
check_LTLIBRARIES += tests/sim/libfaults.la
tests_sim_libfaults_la_SOURCES = tests/sim/faultfs.c tests/sim/faultfs.h tests/sim/memory.c tests/sim/memory.h \
	tests/unit/faulty_store.c tests/unit/faulty_store.h
tests_sim_libfaults_la_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_open_faults_SOURCES = tests/unit/test_open_faults.c tests/unit/sparse_log.c tests/unit/unit.h
tests_unit_test_open_faults_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_open_faults_LDADD = tests/sim/libfaults.la libdaemon.la $(unit_libs)
tests_unit_test_log_check_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_log_check_LDADD = libdaemon.la $(unit_libs)
tests_unit_test_gather_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_gather_LDADD = tests/sim/libfaults.la libdaemon.la $(unit_libs)
tests_unit_test_store_faults_SOURCES = tests/unit/test_store_faults.c tests/unit/sparse_log.c tests/unit/unit.h
tests_unit_test_store_faults_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_store_faults_LDADD = tests/sim/libfaults.la libdaemon.la $(unit_libs)
endif
