/* Cases of test_saver: what a rank leaves to those that go on from its checkpoint. */
#ifndef TESTS_SAVER_HANDOVER_H
#define TESTS_SAVER_HANDOVER_H

void what_was_not_drawn_is_handed_over(void **state);
void another_number_of_ranks_shares_it_out(void **state);
void what_a_reservoir_may_draw_again_outlives_its_process(void **state);
void more_than_has_room_waits_its_turn(void **state);
void what_waited_its_turn_is_handed_over_again(void **state);
void a_damaged_handover_is_not_taken(void **state);
void samples_of_another_spec_are_not_taken(void **state);
void half_a_sample_is_handed_over_again_and_again(void **state);
void a_checkpoint_tells_which_attempt_had_told_its_end(void **state);
void what_was_told_before_the_checkpoint_outlives_the_next_process(void **state);
#endif
