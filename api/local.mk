noinst_LTLIBRARIES += libapi.la
libapi_la_SOURCES = \
	api/access.c api/access.h \
	api/adapters_get.c \
	api/api.c api/api.h \
	api/backup_get.c \
	api/body.c api/body.h \
	api/clients.c api/clients.h \
	api/ensemble_cancel_post.c \
	api/ensemble_close_post.c \
	api/ensemble_failures_get.c \
	api/ensemble_get.c \
	api/ensemble_lists.c api/ensemble_lists.h \
	api/member_sort.c api/member_sort.h \
	api/ensemble_json.c api/ensemble_json.h \
	api/ensemble_patch.c api/training_patch.c \
	api/ensemble_pause_post.c \
	api/ensemble_reply.c \
	api/ensemble_resubmit_post.c \
	api/ensemble_ran_get.c \
	api/nul.c api/nul.h \
	api/ensemble_spec_get.c \
	api/ensemble_follow_up_post.c \
	api/follow_ups_post.c \
	api/follow_up_body.c api/follow_up_body.h \
	api/states.c api/states.h \
	api/ensemble_states_get.c \
	api/encoding.c api/encoding.h \
	api/state_changes.c api/state_changes.h \
	api/ensemble_resume_post.c \
	api/ensemble_trouble.c api/ensemble_trouble.h \
	api/ensembles_in_trouble.c \
	api/ensembles_by_rate.c \
	api/ensembles_get.c \
	api/ensembles_post.c \
	api/etag.c api/etag.h \
	api/event_stream.c api/event_stream.h \
	api/event_text.c api/event_text.h \
	api/events_get.c \
	api/feed.c api/feed.h \
	api/find.c api/find.h \
	api/follow.c api/follow.h \
	api/handlers.h \
	api/headers.c api/headers.h \
	api/health_get.c \
	api/host.c api/host.h \
	api/idempotency.c api/idempotency.h \
	api/job_get.c \
	api/checkpoint_json.c api/checkpoint_json.h \
	api/checkpoints_get.c \
	api/job_json.c api/job_json.h \
	api/jobs_get.c \
	api/limits.h \
	api/listener.c api/listener.h \
	api/listing.c api/listing.h \
	api/listener_tcp.c \
	api/listener_unix.c \
	api/member_filter.c api/member_filter.h \
	api/member_get.c \
	api/member_metrics_get.c \
	api/member_output_get.c \
	api/member_points_get.c \
	api/member_cancel_post.c \
	api/member_resubmit_post.c \
	api/members_get.c \
	api/metrics_get.c \
	api/openapi.c \
	api/openapi_get.c \
	api/origin.c api/origin.h \
	api/output.c api/output.h \
	api/paced.c api/paced.h \
	api/parameter_file.c api/parameter_file.h \
	api/piece.c api/piece.h \
	api/problem.c api/problem.h \
	api/query.c api/query.h \
	api/range.c api/range.h \
	api/ready_get.c \
	api/refusals.c api/refusals.h \
	api/request.c api/request.h api/request_private.h api/request_admit.c api/request_reply.c \
	api/root_get.c \
	api/results_get.c \
	api/rungs.h api/rungs_get.c \
	api/routes.c api/routes.h \
	api/suggestions_post.c \
	api/logins_post.c \
	api/server.c api/server.h \
	api/session.c api/session.h \
	api/session_current.c \
	api/session_delete.c \
	api/session_wish.c api/session_wish.h \
	api/sessions_delete.c \
	api/sessions_get.c \
	api/sessions_post.c \
	api/shares.c api/shares.h \
	api/stream.c api/stream.h \
	api/tbl/problems.h \
	api/tbl/rank_metrics.h \
	api/tbl/event_kinds.h \
	api/tbl/routes.h \
	api/tls.c api/tls.h \
	api/token.c api/token.h \
	api/token_delete.c \
	api/tokens_get.c \
	api/tokens_post.c \
	api/training_generations_get.c \
	api/training_get.c \
	api/training_history_get.c \
	api/training_json.c \
	api/training_figures.c \
	api/training_figures.h \
	api/series_json.c api/series_json.h \
	api/series_reply.c api/series_reply.h \
	api/training_metrics_get.c \
	api/training_points_get.c \
	api/buckets.c api/buckets.h \
	api/training_output_get.c \
	api/training_ranks_get.c \
	api/training_resubmit_post.c \
	api/rate.c api/rate.h \
	api/value.c api/value.h \
	api/web.c api/web.h \
	api/web_tables.c api/web_tables.h \
	api/web_get.c \
	api/who.c api/who.h
nodist_libapi_la_SOURCES = web/embedded.c
libapi_la_CFLAGS = $(AM_CFLAGS) $(MHD_CFLAGS) $(GNUTLS_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS) $(SQLITE_CFLAGS) \
	$(SODIUM_CFLAGS) $(ZLIB_CFLAGS)
libapi_la_LIBADD = $(MHD_LIBS) $(GNUTLS_LIBS) $(UV_LIBS) $(JANSSON_LIBS) $(SODIUM_LIBS) $(ZLIB_LIBS)

# The document is written in YAML and compiled in as JSON. Both steps' results are in the tarball, which so needs no
# PyYAML.
EXTRA_DIST += api/openapi.yaml api/openapi.json
MAINTAINERCLEANFILES += api/openapi.json api/openapi.c
api/openapi.json: api/openapi.yaml build-aux/yaml2json
	$(AM_V_GEN)$(MKDIR_P) api && \
	  { test -n '$(YAML_PYTHON)' || { echo 'a Python with PyYAML is needed to make $@' >&2; exit 1; }; } && \
	  $(YAML_PYTHON) $(srcdir)/build-aux/yaml2json $(srcdir)/api/openapi.yaml $@.tmp && mv $@.tmp $@
api/openapi.c: api/openapi.json build-aux/embed
	$(AM_V_GEN)$(MKDIR_P) api && \
	  json=api/openapi.json && { test -f $$json || json=$(srcdir)/api/openapi.json; } && \
	  sh $(srcdir)/build-aux/embed api_openapi $$json > $@.tmp && mv $@.tmp $@

if HAVE_CMOCKA
unit_tests += tests/unit/test_access tests/unit/test_api_document tests/unit/test_api_parse tests/unit/test_feed \
	tests/unit/test_clients tests/unit/test_api_parts \
	tests/unit/test_callers tests/unit/test_handlers tests/unit/test_pieces tests/unit/test_sessions \
	tests/unit/test_files_told tests/unit/test_submissions tests/unit/test_documents tests/unit/test_routes \
	tests/unit/test_members_listed tests/unit/test_verbs tests/unit/test_http tests/unit/test_http_output \
	tests/unit/test_ensembles_listed \
	tests/unit/test_http_held tests/unit/test_listeners tests/unit/test_pages
tests_unit_test_pages_SOURCES = tests/unit/test_pages.c $(fake_engine) $(fake_request) $(open_store)
tests_unit_test_pages_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_pages_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_http_held_SOURCES = tests/unit/test_http_held.c $(http_rig) $(open_store)
tests_unit_test_http_held_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_http_held_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_listeners_CFLAGS = $(unit_cflags) $(GNUTLS_CFLAGS)
tests_unit_test_listeners_LDADD = libapi.la $(unit_libs) $(GNUTLS_LIBS)
tests_unit_test_ensembles_listed_SOURCES = tests/unit/test_ensembles_listed.c $(failing_store) $(fake_engine) \
	$(fake_request) $(open_store)
tests_unit_test_ensembles_listed_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_ensembles_listed_LDADD = libapi.la libdaemon.la $(unit_libs)
http_rig = tests/unit/http_rig.c tests/unit/http_rig.h
tests_unit_test_http_SOURCES = tests/unit/test_http.c $(http_rig) $(open_store)
tests_unit_test_http_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_http_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_http_output_SOURCES = tests/unit/test_http_output.c $(http_rig) $(open_store)
tests_unit_test_http_output_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_http_output_LDADD = libapi.la libdaemon.la $(unit_libs)
fake_request = tests/unit/fake_request.c tests/unit/fake_request.h
failing_store = tests/unit/failing_store.c tests/unit/failing_store.h
fake_engine = tests/unit/fake_engine.c tests/unit/fake_engine.h
tests_unit_test_files_told_SOURCES = tests/unit/test_files_told.c $(failing_store) $(fake_request) $(open_store) \
	$(virtual_uv)
tests_unit_test_files_told_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_files_told_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_documents_SOURCES = tests/unit/test_documents.c $(failing_store) $(fake_engine) $(fake_request) \
	$(open_store)
tests_unit_test_documents_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_documents_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_members_listed_SOURCES = tests/unit/test_members_listed.c $(failing_store) $(fake_engine) \
	$(fake_request) $(open_store)
tests_unit_test_members_listed_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_members_listed_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_verbs_SOURCES = tests/unit/test_verbs.c $(failing_store) $(fake_engine) $(fake_request) $(open_store)
tests_unit_test_verbs_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_verbs_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_routes_SOURCES = tests/unit/test_routes.c $(fake_request) $(open_store) $(virtual_uv)
tests_unit_test_routes_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_routes_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_submissions_SOURCES = tests/unit/test_submissions.c $(failing_store) $(fake_request) $(open_store) \
	$(virtual_uv)
tests_unit_test_submissions_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS) -Wno-missing-prototypes
tests_unit_test_submissions_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=engine_submit -Wl,--wrap=turn_after_commit
tests_unit_test_submissions_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_sessions_SOURCES = tests/unit/test_sessions.c $(failing_store) $(fake_request) $(open_store)
tests_unit_test_sessions_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_sessions_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_pieces_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_pieces_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_handlers_SOURCES = tests/unit/test_handlers.c $(fake_request)
tests_unit_test_handlers_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_handlers_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_callers_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_callers_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_clients_SOURCES = tests/unit/test_clients.c $(virtual_uv)
tests_unit_test_clients_CFLAGS = $(unit_cflags) $(daemon_cflags)
tests_unit_test_clients_LDADD = libapi.la $(unit_libs)
tests_unit_test_api_parts_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_api_parts_LDADD = libapi.la libdaemon.la $(unit_libs)
virtual_uv = tests/unit/virtual_uv.c tests/unit/virtual_uv.h
tests_unit_test_feed_SOURCES = tests/unit/test_feed.c $(virtual_uv)
tests_unit_test_feed_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_feed_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_access_CFLAGS = $(unit_cflags) $(daemon_cflags) $(MHD_CFLAGS)
tests_unit_test_access_LDADD = libapi.la libdaemon.la $(unit_libs)
tests_unit_test_api_document_CFLAGS = $(unit_cflags)
tests_unit_test_api_document_LDADD = libapi.la $(unit_libs)
tests_unit_test_api_parse_CFLAGS = $(unit_cflags)
tests_unit_test_api_parse_LDADD = libapi.la $(unit_libs)
endif

api_tests = \
	tests/t/0010-layers.t \
	tests/t/0500-http-requests.t \
	tests/t/0510-http-submit.t \
	tests/t/0520-http-lists.t \
	tests/t/0521-http-sorted.t \
	tests/t/0530-http-output.t \
	tests/t/0531-merged-output.t \
	tests/t/0532-artefacts.t \
	tests/t/0533-rules.t \
	tests/t/0540-http-training.t \
	tests/t/0550-http-clients.t \
	tests/t/0560-http-document.t \
	tests/t/0565-http-methods.t \
	tests/t/0570-http-commit.t \
	tests/t/0571-flushes.t \
	tests/t/0572-durable.t \
	tests/t/0573-member-filters.t \
	tests/t/0580-access.t \
	tests/t/0581-private.t \
	tests/t/0583-strangers.t \
	tests/t/0584-strict.t \
	tests/t/0585-large-output.t \
	tests/t/0586-browser.t \
	tests/t/0587-shares.t \
	tests/t/0589-refusals.t \
	tests/t/0591-etag.t \
	tests/t/0592-states.t \
	tests/t/0593-sessions.t \
	tests/t/0594-failures.t \
	tests/t/0595-resource-use.t \
	tests/t/0596-dashboard.t \
	tests/t/0597-dashboard-used.t \
	tests/t/0598-dashboard-actions.t \
	tests/t/0599-dashboard-training.t \
	tests/t/0601-dashboard-ranks.t \
	tests/t/0602-dashboard-needs.t
dist_check_SCRIPTS += $(api_tests)
TESTS += $(api_tests)
check_PROGRAMS += tests/bench/mhd-minimal
tests_bench_mhd_minimal_SOURCES = tests/bench/mhd_minimal.c
tests_bench_mhd_minimal_CFLAGS = $(AM_CFLAGS) $(MHD_CFLAGS)
tests_bench_mhd_minimal_LDADD = $(MHD_LIBS)
check_PROGRAMS += tests/bench/stream-reader
tests_bench_stream_reader_SOURCES = tests/bench/stream_reader.c
tests_bench_stream_reader_CFLAGS = $(AM_CFLAGS)
EXTRA_DIST += tests/bench/api_load.py tests/t/browser.py tests/t/chromium.py tests/t/dashboard.py tests/t/dashboard.sh \
	tests/t/dashboard_actions.py tests/t/dashboard_members.py \
	tests/t/dashboard_empty.py \
	tests/t/dashboard_large.py \
	tests/t/dashboard_overview.py \
	tests/t/dashboard_training.py tests/t/told-rank.py \
	tests/t/dashboard_ranks.py tests/t/scripted-rank.py \
	tests/t/dashboard_needs.py \
	tests/t/dashboard_tools.py tests/t/properties.py tests/t/states.py
check_PROGRAMS += tests/t/control-say
tests_t_control_say_SOURCES = tests/t/control-say.c
