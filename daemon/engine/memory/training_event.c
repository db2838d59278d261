#include "daemon/engine/memory/training_event.h"

#include "common/stretto_assert.h"
#include "daemon/engine/memory/training.h"

enum { SAME = -1, IMPOSSIBLE = -2 };

#define o SAME
#define _ IMPOSSIBLE

/* its row in the store */
#define p TRAINING_PENDING
#define s TRAINING_SUBMITTED
#define r TRAINING_RUNNING
#define d TRAINING_DONE
#define f TRAINING_FAILED
#define c TRAINING_CANCELLED
/* the others by their number: how far it is, what is read; whether its ranks were told, were asked, and need samples */

/* The states after each event, by those before it: `o` is the same as before, `_` is impossible.
 *
 * Nothing of a generation is left when the next one begins, and nothing is read then: a later answer would be mistaken
 * for one about the new ranks. A file for the ranks may still be being written; its writer compares the generation
 * (message_redeem()). So the answer comes in the same generation, but maybe after its end. Only a training that is
 * pending can be dropped at once. If it has a job, the job is cancelled, and the training ends with it. */
/* clang-format off */
static const struct training_change {
    signed char row[TRAINING_CANCELLED + 1], stage[STAGE_COUNT], reading[READING_COUNT], reception[RECEPTION_COUNT],
        ending[ENDING_COUNT], need[NEED_COUNT];
} changes[LIFE_COUNT] = {
    /*                       row                  how far      reading         told         asked        need  */
    /*                       p  s  r  d  f  c     0  1  2      0  1  2  3      0  1  2      0  1  2      0  1  */
    [LIFE_SUBMITTED]     = {{s, _, _, _, _, _}, {o, _, _}, {o, _, _, _}, {o, _, _}, {o, _, _}, {o, _}},
    [LIFE_REACHED]       = {{_, r, _, _, _, _}, {o, _, _}, {_, o, o, _}, {o, o, o}, {o, o, o}, {o, o}},
    [LIFE_JOB_OVER]      = {{_, o, o, _, _, _}, {1, _, _}, {o, o, o, _}, {o, o, o}, {o, o, o}, {o, o}},
    [LIFE_ALL_READ]      = {{_, o, o, _, _, _}, {2, 2, _}, {o, _, _, _}, {o, o, o}, {o, o, o}, {o, o}},
    [LIFE_RENEWED]       = {{_, p, p, _, _, _}, {_, _, 0}, {o, _, _, _}, {o, 0, 0}, {o, 0, 0}, {o, 0}},

    [LIFE_DONE]          = {{_, d, d, _, _, _}, {_, _, o}, {o, _, _, _}, {o, o, o}, {o, o, o}, {o, o}},
    [LIFE_FAILED]        = {{_, f, f, _, _, _}, {_, _, o}, {o, _, _, _}, {o, o, o}, {o, o, o}, {o, o}},
    [LIFE_CANCELLED]     = {{_, c, c, _, _, _}, {_, _, o}, {o, _, _, _}, {o, o, o}, {o, o, o}, {o, o}},
    [LIFE_DROPPED]       = {{c, _, _, _, _, _}, {o, _, _}, {o, _, _, _}, {o, _, _}, {o, _, _}, {o, _}},
    [LIFE_RESUBMITTED]   = {{_, _, _, p, p, p}, {o, _, _}, {o, _, _, _}, {o, _, _}, {o, _, _}, {o, _}},

    [LIFE_LOOK]          = {{_, o, o, _, _, _}, {o, o, _}, {1, 2, o, o}, {o, o, o}, {o, o, o}, {o, o}},
    [LIFE_READ]          = {{_, o, o, _, _, _}, {o, o, _}, {_, 0, 0, _}, {o, o, o}, {o, o, o}, {o, o}},
    [LIFE_COUNTING]      = {{_, o, o, _, _, _}, {_, o, _}, {3, _, _, _}, {o, o, o}, {o, o, o}, {o, o}},
    [LIFE_COUNTED]       = {{_, o, o, _, _, _}, {_, o, _}, {_, _, _, 0}, {o, o, o}, {o, o, o}, {o, o}},

    [LIFE_TELLING]       = {{_, o, o, _, _, _}, {o, o, _}, {o, o, o, o}, {1, _, _}, {o, o, o}, {o, o}},
    [LIFE_TOLD]          = {{_, o, o, o, o, o}, {o, o, o}, {o, o, o, o}, {_, 2, _}, {o, o, o}, {o, o}},
    [LIFE_NOT_TOLD]      = {{_, o, o, o, o, o}, {o, o, o}, {o, o, o, o}, {_, 0, _}, {o, o, o}, {o, o}},
    [LIFE_ASKING]        = {{_, o, o, _, _, _}, {o, _, _}, {o, o, o, _}, {o, o, o}, {1, _, _}, {o, o}},
    [LIFE_ASKED]         = {{_, o, o, o, o, o}, {o, o, o}, {o, o, o, o}, {o, o, o}, {_, 2, _}, {o, o}},
    [LIFE_NOT_ASKED]     = {{_, o, o, o, o, o}, {o, o, o}, {o, o, o, o}, {o, o, o}, {_, 0, _}, {o, o}},
    [LIFE_ENOUGH]        = {{_, o, o, _, _, _}, {o, o, _}, {_, o, o, _}, {o, o, o}, {o, o, o}, {1, o}},
};
/* clang-format on */

static int training_state_after(int before, int cell)
{
    stretto_assert(cell != IMPOSSIBLE);
    return cell < 0 ? before : cell;
}

static void training_states_change(struct training_states *states, enum training_state *row, enum training_event event)
{
    const struct training_change *by = &changes[event];

    states->stage = (enum training_stage)training_state_after(states->stage, by->stage[states->stage]);
    states->reading = (enum training_reading)training_state_after(states->reading, by->reading[states->reading]);
    states->reception =
        (enum training_reception)training_state_after(states->reception, by->reception[states->reception]);
    states->ending = (enum training_ending)training_state_after(states->ending, by->ending[states->ending]);
    states->need = (enum training_need)training_state_after(states->need, by->need[states->need]);
    *row = (enum training_state)training_state_after(*row, by->row[*row]);
}

void training_event(struct training *training, enum training_event event)
{
    training_states_change(&training->state, &training->row.state, event);
}

void training_row_event(struct training_row *row, enum training_event event)
{
    struct training_states none = {0};

    training_states_change(&none, &row->state, event);
}

bool training_is_to_be_read(const struct training *training)
{
    return training_is_under_way(&training->row) && (training->job != NULL || training->state.stage == STAGE_JOB_OVER);
}

bool training_goes_on(const struct training *training)
{
    return training->row.state == TRAINING_RUNNING && training->state.stage == STAGE_OPEN &&
           training->row.wanted == 0 && training->state.reception == RECEPTION_OPEN &&
           training->state.need == NEED_SAMPLES;
}

bool training_is_to_be_asked(const struct training *training)
{
    return training->row.wanted > 0 && training->job != NULL && training->state.stage == STAGE_OPEN &&
           training->state.ending == ENDING_NOT_ASKED;
}

bool training_is_to_be_told(const struct training *training)
{
    return training->job != NULL && training->state.reception == RECEPTION_OPEN;
}
