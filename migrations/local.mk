# Numbered migrations are built into the daemon, in order.
migrations = migrations/0001-initial.sql migrations/0002-token.sql migrations/0003-parameter-rows.sql \
	migrations/0004-event-by-ensemble.sql migrations/0005-for-months.sql migrations/0006-cheap-changes.sql \
	migrations/0007-checkpoints.sql migrations/0008-follow-ups.sql migrations/0009-pilots.sql \
	migrations/0010-chores.sql \
	migrations/0011-since.sql migrations/0012-training-adapter.sql migrations/0013-counted-moves.sql \
	migrations/0014-missing-steps.sql migrations/0015-cancellation.sql migrations/0016-sessions.sql \
	migrations/0017-causes.sql migrations/0018-resource-use.sql
EXTRA_DIST += $(migrations)

migrations/embedded.c: $(migrations) migrations/local.mk build-aux/embed
	$(AM_V_GEN)$(MKDIR_P) migrations && (cd $(srcdir) && sh build-aux/embed store_migrations $(migrations)) > $@.tmp && mv $@.tmp $@
CLEANFILES += migrations/embedded.c
