/* The states of a training, one for each question about it, and the events that change them. Nothing else changes them.
 * Code that learns something about a training, or does something for it, posts an event. The table at the top of
 * training_event.c has the consequences. A generation of its ranks begins with the event that ends the one before. */
#ifndef DAEMON_ENGINE_MEMORY_TRAINING_EVENT_H
#define DAEMON_ENGINE_MEMORY_TRAINING_EVENT_H
#include "daemon/store/training.h"

#include <stdbool.h>

struct training;

/* The progress of a generation of a training's ranks. */
enum training_stage {
    STAGE_OPEN,     /* its job does not exist yet, or is under way */
    STAGE_JOB_OVER, /* its job has ended, and what the ranks wrote is to be read a last time */
    STAGE_ALL_READ, /* all is known: the job ends, and the training ends or the next generation begins */
    STAGE_COUNT
};

/* The state of reading the files of its ranks. */
enum training_reading {
    READING_NONE,
    READING_ONCE,  /* they are being read */
    READING_TWICE, /* they are being read, and will be read once more, since there is news */
    READING_STEPS, /* the training's missing steps are being counted (missing.c) */
    READING_COUNT
};

/* Its ranks are told once that no more members come. */
enum training_reception { RECEPTION_OPEN, RECEPTION_TELLING, RECEPTION_TOLD, RECEPTION_COUNT };

/* Its ranks are asked to end, so that the next generation may have another number of them. */
enum training_ending { ENDING_NOT_ASKED, ENDING_ASKING, ENDING_ASKED, ENDING_COUNT };

/* A rank says, at some time, that it needs no more samples (early.h). */
enum training_need { NEED_SAMPLES, NEED_NONE, NEED_COUNT };

struct training_states {
    enum training_stage stage;
    enum training_reading reading;
    enum training_reception reception;
    enum training_ending ending;
    enum training_need need;
};

enum training_event {
    /* A generation begins and ends. */
    LIFE_SUBMITTED, /* its job is made */
    LIFE_REACHED,   /* every rank can be reached */
    LIFE_JOB_OVER,  /* its job is over, and its ranks' files are to be read a last time */
    LIFE_ALL_READ,  /* that is read, or no rank ever ran */
    LIFE_RENEWED,   /* the next generation is to follow */

    /* The training ends, or is taken on. */
    LIFE_DONE,
    LIFE_FAILED,
    LIFE_CANCELLED,   /* its ensemble was cancelled, or has failed, and its job is over */
    LIFE_DROPPED,     /* so was that of a training which waited to be submitted */
    LIFE_RESUBMITTED, /* it was over; its ensemble is put into memory again */

    /* Its ranks' files are read. */
    LIFE_LOOK, /* they are to be read, or may have news while they are being read */
    LIFE_READ, /* they were read, or could not be */
    LIFE_COUNTING,
    LIFE_COUNTED, /* the missing steps were counted, or could not be */

    /* Its ranks are told something, through a file that is written, and report something. */
    LIFE_TELLING,
    LIFE_TOLD, /* that no more members come */
    LIFE_NOT_TOLD,
    LIFE_ASKING,
    LIFE_ASKED, /* to end */
    LIFE_NOT_ASKED,
    LIFE_ENOUGH, /* one of them needs no more samples */
    LIFE_COUNT
};

/* Changes the states of a training, and the one in its row, by an event. An event that is impossible in a state is a
 * bug: it fails a stretto_assert(), and leaves that state as it is. */
void training_event(struct training *training, enum training_event event);
/* The same for the row of a training of which no generation is under way, be it in memory or not. */
void training_row_event(struct training_row *row, enum training_event event);

/* Returns whether its ranks may have written something that is not read yet. */
bool training_is_to_be_read(const struct training *training);
/* Returns whether its ranks go on with their number, and need all samples that members send. */
bool training_goes_on(const struct training *training);
/* Returns whether its ranks are to be asked to end: another number of them is wanted. */
bool training_is_to_be_asked(const struct training *training);
/* Returns whether its ranks can be told that no more members come, and were not. */
bool training_is_to_be_told(const struct training *training);
#endif
