# The dashboard: plain ES modules, CSS and one page, without a step of their own. They are built into the daemon by their names, each
# also compressed where that makes it smaller, and served by api/web.c.
web_files = \
	web/api.js \
	web/app.css \
	web/app.js \
	web/chart.js \
	web/controls.js \
	web/dialog.js \
	web/dom.js \
	web/ensemble.js \
	web/failures.js \
	web/format.js \
	web/icon.svg \
	web/index.html \
	web/live.js \
	web/login.js \
	web/member.js \
	web/members.js \
	web/overview.js \
	web/states.js \
	web/training.js
EXTRA_DIST += $(web_files)

web/embedded.c: $(web_files) web/local.mk build-aux/embed
	$(AM_V_GEN)rm -rf web/packed && $(MKDIR_P) web/packed && set -- && for file in $(web_files); do \
	  name=$${file##*/} && gzip -9 -n -c $(srcdir)/$$file > web/packed/$$name.gz && set -- "$$@" $(srcdir)/$$file && \
	  { test `wc -c < web/packed/$$name.gz` -ge `wc -c < $(srcdir)/$$file` || set -- "$$@" web/packed/$$name.gz; } || exit 1; \
	done && sh $(srcdir)/build-aux/embed web_files "$$@" > $@.tmp && rm -rf web/packed && mv $@.tmp $@
CLEANFILES += web/embedded.c
