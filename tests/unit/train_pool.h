/* Cases of test_train_parts: how samples are drawn from the buffer. */
#ifndef TESTS_TRAIN_POOL_H
#define TESTS_TRAIN_POOL_H
void samples_are_counted_by_how_often_they_are_drawn(void **state);
void a_batch_is_whole_but_for_the_last_one(void **state);
#endif
