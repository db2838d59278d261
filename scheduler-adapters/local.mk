# Drivers of batch systems, one or a few files each, and the table that lists them.
noinst_LTLIBRARIES += libadapters.la
libadapters_la_SOURCES = \
	scheduler-adapters/adapter.h \
	scheduler-adapters/alps.c scheduler-adapters/alps.h \
	scheduler-adapters/alps_ask.c \
	scheduler-adapters/alps_files.c \
	scheduler-adapters/alps_nids.c \
	scheduler-adapters/alps_nodes.c \
	scheduler-adapters/alps_queue.c \
	scheduler-adapters/alps_shape.c \
	scheduler-adapters/alps_start.c \
	scheduler-adapters/answers.c scheduler-adapters/answers.h \
	scheduler-adapters/batch.c scheduler-adapters/batch.h \
	scheduler-adapters/batch_deeds.c \
	scheduler-adapters/batch_gather.c \
	scheduler-adapters/batch_known.c scheduler-adapters/batch_known.h \
	scheduler-adapters/batch_look.c \
	scheduler-adapters/batch_orders.c \
	scheduler-adapters/batch_overdue.c \
	scheduler-adapters/batch_poll.c \
	scheduler-adapters/batch_rows.c scheduler-adapters/batch_rows.h \
	scheduler-adapters/batch_submit.c \
	scheduler-adapters/command.c scheduler-adapters/command.h \
	scheduler-adapters/command_memory.c scheduler-adapters/command_memory.h \
	scheduler-adapters/command_pace.c \
	scheduler-adapters/local.c scheduler-adapters/local.h \
	scheduler-adapters/local_ask.c \
	scheduler-adapters/local_gpus.c \
	scheduler-adapters/local_look.c \
	scheduler-adapters/local_machine.c \
	scheduler-adapters/local_queue.c \
	scheduler-adapters/local_runner.c \
	scheduler-adapters/local_start.c \
	scheduler-adapters/local_starter.c \
	scheduler-adapters/local_stopped.c \
	scheduler-adapters/pbs.c scheduler-adapters/pbs.h \
	scheduler-adapters/pbs_end.c \
	scheduler-adapters/pbs_json.c \
	scheduler-adapters/pbs_kind.c \
	scheduler-adapters/pbs_look.c \
	scheduler-adapters/pbs_orders.c \
	scheduler-adapters/pbs_pieces.c \
	scheduler-adapters/pbs_rows.c \
	scheduler-adapters/pbs_submit.c \
	scheduler-adapters/pbs_xml.c \
	scheduler-adapters/plugin.c scheduler-adapters/plugin.h \
	scheduler-adapters/registry.c scheduler-adapters/registry.h \
	scheduler-adapters/resources.c scheduler-adapters/resources.h \
	scheduler-adapters/rest.c scheduler-adapters/rest.h \
	scheduler-adapters/rest_token.c \
	scheduler-adapters/slurm.c scheduler-adapters/slurm.h \
	scheduler-adapters/slurm_end.c \
	scheduler-adapters/slurm_past.c \
	scheduler-adapters/slurm_rows.c \
	scheduler-adapters/slurm_site.c \
	scheduler-adapters/slurm_options.c \
	scheduler-adapters/slurm_submit.c \
	scheduler-adapters/slurm_time.c \
	scheduler-adapters/slurmrestd.c scheduler-adapters/slurmrestd.h \
	scheduler-adapters/slurmrestd_ask.c \
	scheduler-adapters/slurmrestd_limits.c \
	scheduler-adapters/slurmrestd_options.c \
	scheduler-adapters/slurmrestd_orders.c \
	scheduler-adapters/slurmrestd_past.c \
	scheduler-adapters/slurmrestd_rows.c \
	scheduler-adapters/slurmrestd_said.c \
	scheduler-adapters/slurmrestd_submit.c \
	scheduler-adapters/slurmrestd_time.c \
	scheduler-adapters/options.c scheduler-adapters/options.h \
	scheduler-adapters/pbs_options.c \
	scheduler-adapters/alps_options.c \
	scheduler-adapters/words.c scheduler-adapters/words.h
libadapters_la_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS) $(EXPAT_CFLAGS) $(CURL_CFLAGS)
libadapters_la_LIBADD = liburl.la libjobproto.la libcommon.la $(UV_LIBS) $(JANSSON_LIBS) $(EXPAT_LIBS) $(CURL_LIBS)

# What adapters outside of this tree are built with: headers that need nothing else of ours, made from our own, and a
# library of the helpers. It keeps nothing: a plugin and the daemon share only the structs of the headers.
plugindir = $(libdir)/stretto/adapters
adapterdir = $(includedir)/stretto
nodist_adapter_HEADERS = \
	include/stretto/adapter.h include/stretto/answers.h include/stretto/batch.h include/stretto/batch_rows.h \
	include/stretto/command.h include/stretto/error.h include/stretto/jsonx.h include/stretto/options.h \
	include/stretto/resources.h include/stretto/words.h include/stretto/xalloc.h
BUILT_SOURCES += $(nodist_adapter_HEADERS)
CLEANFILES += $(nodist_adapter_HEADERS)
make_public = sed 's|^\#include "[a-z/-]*/\([a-z_]*\.h\)"|\#include <stretto/\1>|'
include/stretto/adapter.h: scheduler-adapters/adapter.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && $(make_public) $(srcdir)/scheduler-adapters/adapter.h > $@.tmp && mv $@.tmp $@
include/stretto/answers.h: scheduler-adapters/answers.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && $(make_public) $(srcdir)/scheduler-adapters/answers.h > $@.tmp && mv $@.tmp $@
include/stretto/batch.h: scheduler-adapters/batch.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && $(make_public) $(srcdir)/scheduler-adapters/batch.h > $@.tmp && mv $@.tmp $@
include/stretto/batch_rows.h: scheduler-adapters/batch_rows.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && $(make_public) $(srcdir)/scheduler-adapters/batch_rows.h > $@.tmp && \
		mv $@.tmp $@
include/stretto/command.h: scheduler-adapters/command.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && $(make_public) $(srcdir)/scheduler-adapters/command.h > $@.tmp && mv $@.tmp $@
include/stretto/options.h: scheduler-adapters/options.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && $(make_public) $(srcdir)/scheduler-adapters/options.h > $@.tmp && mv $@.tmp $@
include/stretto/resources.h: scheduler-adapters/resources.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && \
	  $(make_public) $(srcdir)/scheduler-adapters/resources.h > $@.tmp && mv $@.tmp $@
include/stretto/words.h: scheduler-adapters/words.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && $(make_public) $(srcdir)/scheduler-adapters/words.h > $@.tmp && mv $@.tmp $@
include/stretto/error.h: common/error.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && $(make_public) $(srcdir)/common/error.h > $@.tmp && mv $@.tmp $@
include/stretto/jsonx.h: common/jsonx.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && $(make_public) $(srcdir)/common/jsonx.h > $@.tmp && mv $@.tmp $@
include/stretto/xalloc.h: common/xalloc.h
	$(AM_V_GEN)$(MKDIR_P) include/stretto && $(make_public) $(srcdir)/common/xalloc.h > $@.tmp && mv $@.tmp $@

lib_LTLIBRARIES += libstretto-adapter.la
libstretto_adapter_la_SOURCES = common/error.c common/files.c common/jsonx.c common/shell_word.c common/units.c \
	common/xalloc.c \
	scheduler-adapters/answers.c \
	scheduler-adapters/batch.c \
	scheduler-adapters/batch_deeds.c \
	scheduler-adapters/batch_gather.c \
	scheduler-adapters/batch_known.c \
	scheduler-adapters/batch_look.c \
	scheduler-adapters/batch_orders.c \
	scheduler-adapters/batch_overdue.c \
	scheduler-adapters/batch_poll.c \
	scheduler-adapters/batch_rows.c \
	scheduler-adapters/batch_submit.c \
	scheduler-adapters/command.c \
	scheduler-adapters/command_memory.c \
	scheduler-adapters/command_pace.c \
	scheduler-adapters/options.c \
	scheduler-adapters/resources.c \
	scheduler-adapters/words.c
libstretto_adapter_la_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
libstretto_adapter_la_LIBADD = $(UV_LIBS) $(JANSSON_LIBS) -lm
libstretto_adapter_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-export-symbols-regex \
	'^(error_|jsonx_|duration_|size_|xcalloc|xrealloc|xstrdup|xasprintf|answers_|batch_|command|options_|resource|words_)'
pkgconfig_DATA += scheduler-adapters/stretto-adapter.pc

# OAR, as a plugin like others' are: built with what is installed, and nothing else of the tree's.
plugin_LTLIBRARIES = oar.la
oar_la_SOURCES = \
	scheduler-adapters/oar/oar.c scheduler-adapters/oar/oar.h \
	scheduler-adapters/oar/oar_end.c \
	scheduler-adapters/oar/oar_rows.c \
	scheduler-adapters/oar/oar_options.c \
	scheduler-adapters/oar/oar_submit.c
oar_la_CPPFLAGS = -I$(builddir)/include
oar_la_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
oar_la_LIBADD = libstretto-adapter.la $(UV_LIBS) $(JANSSON_LIBS)
# It is linked anew as it is installed, with what is installed then. (By a variable: automake takes the rule for its own
# otherwise.)
install_plugins = install-pluginLTLIBRARIES
$(install_plugins): install-libLTLIBRARIES
oar_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -export-symbols-regex '^stretto_adapter$$' \
	-Wl,-rpath,'$$ORIGIN/../..'

if HAVE_CMOCKA
unit_tests += tests/unit/test_resources tests/unit/test_alps tests/unit/test_alps_ends tests/unit/test_alps_jobs \
	tests/unit/test_alps_launcher \
	tests/unit/test_alps_orders tests/unit/test_adapter_resources tests/unit/test_adapter_conformance \
	tests/unit/test_adapter_restart \
	tests/unit/test_adapter_jobfd tests/unit/test_adapter_starter tests/unit/test_adapter_starting \
	tests/unit/test_command \
	tests/unit/test_batch tests/unit/test_batch_asked tests/unit/test_batch_gather tests/unit/test_batch_lines \
	tests/unit/test_batch_orders tests/unit/test_batch_parts tests/unit/test_batch_refused \
	tests/unit/test_pbs_rows tests/unit/test_pbs_talk \
	tests/unit/test_oar_asked tests/unit/test_oar_rows \
	tests/unit/test_slurm_rows tests/unit/test_slurmrestd tests/unit/test_slurmrestd_talk \
	tests/unit/test_rest
# What several programs share is compiled once.
check_LTLIBRARIES += tests/unit/libharness.la tests/unit/libsite.la
tests_unit_libharness_la_SOURCES = tests/unit/adapter_harness.c tests/unit/adapter_harness.h
tests_unit_libharness_la_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
# Its tests start real runners.
EXTRA_tests_unit_libharness_la_DEPENDENCIES = stretto-run$(EXEEXT)
harness_libs = tests/unit/libharness.la libadapters.la libjobproto.la $(unit_libs) $(UV_LIBS)
tests_unit_test_command_SOURCES = tests/unit/test_command.c tests/unit/unit.h
tests_unit_test_command_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_command_LDADD = libadapters.la $(unit_libs) $(UV_LIBS)
tests_unit_test_resources_SOURCES = tests/unit/test_resources.c tests/unit/unit.h
tests_unit_test_resources_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_resources_LDADD = libadapters.la $(unit_libs) $(UV_LIBS)
tests_unit_test_batch_SOURCES = tests/unit/test_batch.c tests/unit/unit.h
tests_unit_test_batch_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_batch_LDADD = libadapters.la $(unit_libs) $(UV_LIBS)
tests_unit_libsite_la_SOURCES = tests/unit/batch_site.c tests/unit/batch_site.h
tests_unit_libsite_la_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
site_libs = tests/unit/libsite.la libadapters.la $(unit_libs) $(UV_LIBS)
tests_unit_test_batch_asked_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_batch_asked_LDADD = $(site_libs)
tests_unit_test_batch_gather_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_batch_lines_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_batch_lines_LDADD = $(site_libs)
tests_unit_test_batch_gather_LDADD = $(site_libs)
tests_unit_test_alps_ends_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_alps_ends_LDADD = $(site_libs)
tests_unit_test_alps_jobs_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_alps_jobs_LDADD = $(site_libs)
tests_unit_test_alps_launcher_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_alps_launcher_LDADD = $(site_libs)
tests_unit_test_alps_orders_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_alps_orders_LDADD = $(site_libs)
tests_unit_test_batch_orders_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_batch_orders_LDADD = $(site_libs)
tests_unit_test_batch_parts_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_batch_parts_LDADD = $(site_libs)
tests_unit_test_pbs_talk_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_pbs_talk_LDADD = $(site_libs)
tests_unit_test_batch_refused_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_batch_refused_LDADD = $(site_libs)
tests_unit_test_alps_SOURCES = tests/unit/test_alps.c tests/unit/unit.h
tests_unit_test_alps_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_alps_LDADD = libadapters.la $(unit_libs) $(UV_LIBS)
tests_unit_test_pbs_rows_SOURCES = tests/unit/test_pbs_rows.c tests/unit/unit.h
tests_unit_test_pbs_rows_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_pbs_rows_LDADD = libadapters.la $(unit_libs) $(UV_LIBS)
tests_unit_test_oar_rows_SOURCES = tests/unit/test_oar_rows.c scheduler-adapters/oar/oar_rows.c \
	scheduler-adapters/oar/oar_submit.c tests/unit/unit.h
tests_unit_test_oar_rows_CPPFLAGS = $(AM_CPPFLAGS) -I$(builddir)/include
tests_unit_test_oar_rows_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_oar_rows_LDADD = libstretto-adapter.la $(unit_libs) $(UV_LIBS)
tests_unit_test_oar_asked_SOURCES = tests/unit/test_oar_asked.c $(oar_la_SOURCES) tests/unit/unit.h
tests_unit_test_oar_asked_CPPFLAGS = $(AM_CPPFLAGS) -I$(builddir)/include
tests_unit_test_oar_asked_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_oar_asked_LDADD = tests/unit/libsite.la libstretto-adapter.la $(unit_libs) $(UV_LIBS)
tests_unit_test_slurm_rows_SOURCES = tests/unit/test_slurm_rows.c tests/unit/unit.h
tests_unit_test_slurm_rows_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_slurm_rows_LDADD = libadapters.la $(unit_libs) $(UV_LIBS)
tests_unit_test_slurmrestd_SOURCES = tests/unit/test_slurmrestd.c tests/unit/unit.h
tests_unit_test_slurmrestd_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_slurmrestd_LDADD = libadapters.la $(unit_libs) $(UV_LIBS)
tests_unit_test_slurmrestd_talk_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_slurmrestd_talk_LDADD = $(site_libs)
tests_unit_test_rest_SOURCES = tests/unit/test_rest.c tests/unit/unit.h
tests_unit_test_rest_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_rest_LDADD = libadapters.la $(unit_libs) $(UV_LIBS)
tests_unit_test_adapter_conformance_SOURCES = tests/unit/test_adapter_conformance.c tests/unit/conformance.h \
	tests/unit/conformance_ends.c tests/unit/conformance_nudges.c tests/unit/conformance_queue.c \
	tests/unit/conformance_runs.c
tests_unit_test_adapter_conformance_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_conformance_LDADD = $(harness_libs)
tests_unit_test_adapter_jobfd_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_jobfd_LDADD = $(harness_libs)
tests_unit_test_adapter_resources_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_resources_LDADD = $(harness_libs)
tests_unit_test_adapter_restart_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_restart_LDADD = $(harness_libs)
tests_unit_test_adapter_starter_SOURCES = tests/unit/test_adapter_starter.c tests/unit/starter_rig.c \
	tests/unit/starter_rig.h
tests_unit_test_adapter_starter_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_starter_LDADD = $(harness_libs)
tests_unit_test_adapter_starting_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_starting_LDADD = $(harness_libs)
unit_tests += tests/unit/test_adapter_faults tests/unit/test_adapter_machine tests/unit/test_adapter_runners \
	tests/unit/test_batch_shared
tests_unit_test_batch_shared_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_batch_shared_LDADD = $(site_libs)
tests_unit_test_adapter_faults_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_faults_LDADD = $(harness_libs)
tests_unit_test_adapter_runners_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_runners_LDADD = $(harness_libs)
tests_unit_test_adapter_machine_CFLAGS = $(unit_cflags) $(UV_CFLAGS)
tests_unit_test_adapter_machine_LDADD = $(harness_libs)
endif
EXTRA_DIST += scheduler-adapters/template.c tests/t/toy-batch tests/unit/adapter_named.h tests/unit/adapter_harness.c \
	tests/unit/adapter_harness.h tests/unit/batch_site.c tests/unit/batch_site.h tests/unit/alps_site.h

slurm_tests = tests/t/0650-slurm.t \
	tests/t/0652-slurm-accounts.t tests/t/0653-slurm-arrays.t tests/t/0654-srun.t \
	tests/t/0656-slurmrestd-accounts.t \
	tests/t/0657-slurm-ids.t \
	tests/t/0660-slurm-heat.t tests/t/0661-two-systems.t tests/t/0662-slurm-short-jobs.t tests/t/0676-pilots-slurm.t
dist_check_SCRIPTS += $(slurm_tests) tests/slurm/private-slurm tests/slurm/rest-proxy
EXTRA_DIST += tests/t/batch.sh tests/t/blocks.sh tests/t/private_server.py tests/t/slurm.sh tests/t/slurmrestd.sh
TESTS += $(slurm_tests)

pbs_tests = tests/t/0672-pbs-arrays.t tests/t/0673-pbs-orders.t tests/t/0674-pbs-words.t tests/t/0677-pilots-pbs.t \
	tests/t/0679-pbs-mom.t
dist_check_SCRIPTS += $(pbs_tests) tests/pbs/private-pbs tests/pbs/pbsdsh
EXTRA_DIST += tests/t/pbs.sh tests/pbs/pbs_commands.py tests/pbs/pbs_jobs.py
TESTS += $(pbs_tests)
# Without sanitizers, as real ones are: it is run some hundred times.
check_PROGRAMS += tests/pbs/pbs-client
tests_pbs_pbs_client_SOURCES = tests/pbs/pbs-client.c
tests_pbs_pbs_client_CFLAGS = -std=gnu11 $(WARN_FLAGS) -fno-sanitize=all
tests_pbs_pbs_client_LDFLAGS =

oar_tests = tests/t/0685-oar.t tests/t/0686-oar-long.t
dist_check_SCRIPTS += $(oar_tests) tests/oar/private-oar
EXTRA_DIST += tests/t/oar.sh
TESTS += $(oar_tests)

alps_tests = tests/t/0680-alps.t tests/t/0683-pilots-alps.t
dist_check_SCRIPTS += $(alps_tests) tests/alps/alps tests/t/alps.sh
TESTS += $(alps_tests)
