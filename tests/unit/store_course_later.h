/* Cases of test_store_course: what is done to many members piece by piece, sessions and tokens, and series. */
#ifndef TESTS_STORE_COURSE_LATER_H
#define TESTS_STORE_COURSE_LATER_H
#include "daemon/store/member.h"

void put_member(int64_t ensemble, int64_t index, enum member_state state); /* in test_store_course.c */

void bulk_operations_are_done_one_by_one(void **state);
void a_cancellation_goes_on_where_it_was(void **state);
void sessions_and_tokens_are_listed_newest_first(void **state);
void the_bounds_of_a_series_are_in_the_range(void **state);
#endif
