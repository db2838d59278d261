# The dashboard: plain ES modules, CSS and one page. They need no build step of their own. The daemon has them built in
# under their paths below web/, each also compressed if that makes it smaller, and api/web.c serves them.
# data/ has no elements, widgets/ know no page, and views/ are parts of pages: each imports only from before it.
web_files = \
	web/app.css \
	web/app.js \
	web/icon.svg \
	web/index.html \
	web/data/api.js \
	web/data/cache.js \
	web/data/ensemble_choice.js \
	web/data/fields.js \
	web/data/format.js \
	web/data/live.js \
	web/data/member_filter.js \
	web/data/sample.js \
	web/data/snapshot.js \
	web/data/states.js \
	web/data/text.js \
	web/vendor/uplot.css \
	web/vendor/uplot.js \
	web/views/choice_form.js \
	web/views/controls.js \
	web/views/ensemble.js \
	web/views/ensemble_columns.js \
	web/views/ensemble_table.js \
	web/views/failures.js \
	web/views/family.js \
	web/views/filter.js \
	web/views/generations.js \
	web/views/grid_table.js \
	web/views/login.js \
	web/views/member.js \
	web/views/member_grid.js \
	web/views/member_table.js \
	web/views/metrics.js \
	web/views/needs.js \
	web/views/overview.js \
	web/views/parameter_plots.js \
	web/views/ranks.js \
	web/views/resubmit.js \
	web/views/rungs.js \
	web/views/sample_flow.js \
	web/views/spec.js \
	web/views/training.js \
	web/views/training_summary.js \
	web/widgets/band.js \
	web/widgets/cells.js \
	web/widgets/curves.js \
	web/widgets/dialog.js \
	web/widgets/dom.js \
	web/widgets/grid.js \
	web/widgets/parallel.js \
	web/widgets/picture.js \
	web/widgets/scatter.js \
	web/widgets/sentence.js \
	web/widgets/stacked_table.js \
	web/widgets/state_signs.js \
	web/widgets/timeline.js
# web/vendor is from npm, by the lock file: build-aux/web-vendor makes it anew after a change of that file.
EXTRA_DIST += $(web_files) web/vendor/uplot.LICENSE web/package.json web/package-lock.json build-aux/web-vendor

web/embedded.c: $(web_files) web/local.mk build-aux/embed
	$(AM_V_GEN)rm -rf web/packed && set -- && for file in $(web_files); do \
	  name=$${file#web/} && packed=web/packed/./$$name.gz && $(MKDIR_P) `dirname $$packed` && \
	  gzip -9 -n -c $(srcdir)/$$file > $$packed && set -- "$$@" $(srcdir)/web/./$$name && \
	  { test `wc -c < $$packed` -ge `wc -c < $(srcdir)/$$file` || set -- "$$@" $$packed; } || exit 1; \
	done && sh $(srcdir)/build-aux/embed web_files "$$@" > $@.tmp && rm -rf web/packed && mv $@.tmp $@
CLEANFILES += web/embedded.c
