# The schema of the database, in steps that are built into the daemon in order: the N-th leads to version N. Until a
# release there is one,
# and the schema is changed there; from then on a change is another file, NNNN-what-it-does.sql, and those before are
# left as they are.
migrations = migrations/0001-initial.sql
EXTRA_DIST += $(migrations)

migrations/embedded.c: $(migrations) migrations/local.mk build-aux/embed
	$(AM_V_GEN)$(MKDIR_P) migrations && (cd $(srcdir) && sh build-aux/embed store_migrations $(migrations)) > $@.tmp && \
		mv $@.tmp $@
CLEANFILES += migrations/embedded.c
