# libcli.la is what cli/main.c and its unit tests share.
noinst_LTLIBRARIES += libcli.la
libcli_la_SOURCES = \
	cli/args.c cli/args.h \
	cli/checkpoint.c cli/checkpoint.h \
	cli/cli.h \
	cli/client.c cli/client.h \
	cli/cmd_adapters.c \
	cli/cmd_backup.c \
	cli/cmd_cancel.c \
	cli/cmd_checkpoints.c \
	cli/cmd_close.c \
	cli/cmd_dashboard.c \
	cli/cmd_events.c \
	cli/cmd_follow_up.c \
	cli/cmd_jobs.c \
	cli/cmd_logs.c \
	cli/cmd_members.c \
	cli/cmd_metrics.c \
	cli/cmd_pause.c \
	cli/cmd_report.c \
	cli/cmd_resize.c \
	cli/cmd_resubmit.c \
	cli/cmd_results.c \
	cli/cmd_rungs.c \
	cli/cmd_resume.c \
	cli/cmd_hosts.c \
	cli/cmd_spec.c \
	cli/cmd_status.c \
	cli/cmd_submit.c \
	cli/cmd_suggest.c \
	cli/cmd_token.c \
	cli/cmd_top.c \
	cli/cmd_wait.c \
	cli/complete.c cli/complete.h \
	cli/curve.c cli/curve.h \
	cli/credentials.c cli/credentials.h \
	cli/ensemble.c cli/ensemble.h \
	cli/failures.c cli/failures.h \
	cli/grants.c cli/grants.h \
	cli/harmless.c cli/harmless.h \
	cli/lock.c cli/lock.h \
	cli/mllog.c cli/mllog.h \
	cli/member_query.c cli/member_query.h \
	cli/pages.c cli/pages.h \
	cli/parse.c \
	cli/peer.c cli/peer.h \
	cli/plot.c cli/plot.h \
	cli/problem.c \
	cli/progress.c cli/progress.h \
	cli/render.c cli/render.h \
	cli/report.c cli/report.h \
	cli/screen.c cli/screen.h \
	cli/sheet.c cli/sheet.h \
	cli/spec_file.c cli/spec_file.h \
	cli/spec_rules.c cli/spec_rules.h \
	cli/sweep.c cli/sweep.h \
	cli/sweep_page.c cli/sweep_print.h cli/sweep_rows.c cli/sweep_tables.c \
	cli/points.c cli/points.h \
	cli/sweep_curve.c cli/sweep_curve.h \
	cli/sweep_read.c cli/sweep_read.h \
	cli/sweep_rules.c cli/sweep_rules.h \
	cli/table.c cli/table.h \
	cli/terminal.c cli/terminal.h \
	cli/url.c cli/url.h \
	cli/verb.c cli/verb.h \
	cli/watch.c cli/watch.h
libcli_la_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(JANSSON_CFLAGS) $(SODIUM_CFLAGS)
libcli_la_LIBADD = liburl.la libcommon.la $(CURL_LIBS) $(JANSSON_LIBS) $(SODIUM_LIBS) -lm

bin_PROGRAMS += stretto
stretto_SOURCES = cli/main.c
stretto_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
stretto_LDFLAGS = $(AM_LDFLAGS) -static
stretto_LDADD = libcli.la

# Where bash and zsh look for completions by themselves.
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = cli/completion/_stretto
EXTRA_DIST += cli/completion/stretto.bash
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(bashcompletiondir)'
	$(INSTALL_DATA) $(srcdir)/cli/completion/stretto.bash '$(DESTDIR)$(bashcompletiondir)/stretto'
uninstall-local:
	rm -f '$(DESTDIR)$(bashcompletiondir)/stretto'

if HAVE_CMOCKA
unit_tests += tests/unit/test_cli tests/unit/test_client tests/unit/test_curve tests/unit/test_spec_file \
	tests/unit/test_url
tests_unit_test_spec_file_CFLAGS = $(unit_cflags)
tests_unit_test_spec_file_LDADD = libcli.la $(unit_libs)
tests_unit_test_url_CFLAGS = $(unit_cflags)
tests_unit_test_url_LDADD = libcli.la $(unit_libs)
tests_unit_test_curve_CFLAGS = $(unit_cflags)
tests_unit_test_curve_LDADD = libcli.la $(unit_libs) -lm
tests_unit_test_cli_CFLAGS = $(unit_cflags)
tests_unit_test_cli_LDADD = libcli.la $(unit_libs)
tests_unit_test_client_CFLAGS = $(unit_cflags)
tests_unit_test_client_LDADD = libcli.la $(unit_libs) -lpthread
endif
