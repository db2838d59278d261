/* The steps of which some fields have been sent and others not. A sample counts only with all its fields, so a program
 * that forgets one must be told. */
#ifndef TASKS_MEMBER_STEPS_H
#define TASKS_MEMBER_STEPS_H
#include <stdbool.h>
#include <stdint.h>

struct steps;

/* `fields`: from 1 to 64. NULL if there is no memory. At most FIELDS_OPEN_STEPS_MAX steps are open at once. */
struct steps *steps_create(int fields);
void steps_destroy(struct steps *steps);

/* Notes that a field was sent, for the first time or once more; `place` is the frame's number in the order of all that
 * the stream has sent. */
void steps_note(struct steps *steps, int64_t step, int field, uint64_t place);

/* The ranks have that step of an earlier attempt: it lacks nothing. */
void steps_drop(struct steps *steps, int64_t step);

/* Returns the place of the first frame of the oldest incomplete step; UINT64_MAX if all are complete. */
uint64_t steps_oldest(const struct steps *steps);

/* Returns whether the step may be sent: it has been begun, or fewer than `max` others lack fields. */
bool steps_may_begin(const struct steps *steps, int64_t step, int max);

/* Gives the oldest incomplete step, and one field that it lacks; false if all are complete. */
bool steps_first_incomplete(const struct steps *steps, int64_t *step, int *field);
#endif
