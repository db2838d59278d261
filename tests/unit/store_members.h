/* Cases of test_store: the order of members that are due, what a reset does, counts of ensembles, and replies. */
#ifndef TESTS_STORE_MEMBERS_H
#define TESTS_STORE_MEMBERS_H
#include "daemon/store/ensemble.h"

/* In test_store.c */
struct store *must_open(void);
struct ensemble_row add_ensemble(struct store *store, int64_t count);

void the_longest_due_go_first(void **state);
void a_member_that_is_reset_waits_for_nothing(void **state);
void a_member_that_was_cancelled_alone_is_not_reset(void **state);
void ensembles_are_counted_as_they_change(void **state);
void replies_are_remembered_for_a_day(void **state);
#endif
