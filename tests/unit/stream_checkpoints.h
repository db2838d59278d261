/* Cases of test_stream: what the library does if there is no stream, and checkpoints of members. */
#ifndef TESTS_STREAM_CHECKPOINTS_H
#define TESTS_STREAM_CHECKPOINTS_H
void without_a_stream_the_library_is_idle(void **state);
void a_checkpoint_is_due_by_whichever_needs_more_time(void **state);
void a_checkpoint_is_in_its_directory(void **state);
#endif
