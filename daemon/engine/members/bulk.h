/* Changes of many members, some in each turn. */
#ifndef DAEMON_ENGINE_MEMBERS_BULK_H
#define DAEMON_ENGINE_MEMBERS_BULK_H

struct alarm;
struct bulk;
struct engine;
struct error;
struct live_ensemble;

/* Calls store_bulk_piece(), and reports the members that it changed. */
int bulk_change_members(struct engine *engine, struct bulk *bulk, int limit, struct error *err);
/* Does a piece of the bulk operation now, and the rest later. Returns 0 or -1. */
int bulk_begin(struct engine *engine, struct live_ensemble *ens, struct bulk *bulk, struct error *err);
/* Goes on with the bulk operations of the ensemble that are not finished, if any. */
int bulk_resume(struct engine *engine, struct live_ensemble *ens, struct error *err);
void bulk_work(struct engine *engine, struct alarm *alarm);

#endif
