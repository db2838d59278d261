# The dashboard: plain ES modules, CSS and one page, without a step of their own. They are built into the daemon by their names, each
# also compressed where that makes it smaller, and served by api/web.c.
web_files = \
	web/again.js \
	web/api.js \
	web/app.css \
	web/app.js \
	web/cells.js \
	web/chart.js \
	web/choosing.js \
	web/columns.js \
	web/controls.js \
	web/copy.js \
	web/curves.js \
	web/dialog.js \
	web/dom.js \
	web/ensemble.js \
	web/failures.js \
	web/family.js \
	web/fields.js \
	web/filter.js \
	web/format.js \
	web/generations.js \
	web/grid.js \
	web/history.js \
	web/icon.svg \
	web/index.html \
	web/kept.js \
	web/listed.js \
	web/live.js \
	web/login.js \
	web/map.js \
	web/member.js \
	web/members.js \
	web/metrics.js \
	web/needs.js \
	web/ranks.js \
	web/rungs.js \
	web/overview.js \
	web/parallel.js \
	web/plot.js \
	web/plots.js \
	web/ranges.js \
	web/sample.js \
	web/scatter.js \
	web/sentence.js \
	web/spec.js \
	web/stacked.js \
	web/states.js \
	web/table.js \
	web/timeline.js \
	web/training.js \
	web/trainingpage.js \
	web/vendor/uplot.css \
	web/vendor/uplot.js
# web/vendor is from npm, by the lock file: build-aux/web-vendor makes it anew after a change of that.
EXTRA_DIST += $(web_files) web/vendor/uplot.LICENSE web/package.json web/package-lock.json build-aux/web-vendor

web/embedded.c: $(web_files) web/local.mk build-aux/embed
	$(AM_V_GEN)rm -rf web/packed && $(MKDIR_P) web/packed && set -- && for file in $(web_files); do \
	  name=$${file##*/} && gzip -9 -n -c $(srcdir)/$$file > web/packed/$$name.gz && set -- "$$@" $(srcdir)/$$file && \
	  { test `wc -c < web/packed/$$name.gz` -ge `wc -c < $(srcdir)/$$file` || set -- "$$@" web/packed/$$name.gz; } || exit 1; \
	done && sh $(srcdir)/build-aux/embed web_files "$$@" > $@.tmp && rm -rf web/packed && mv $@.tmp $@
CLEANFILES += web/embedded.c
