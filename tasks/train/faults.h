/* The reasons why a rank refuses a frame: each is counted by itself, in the rank's status under this name. */
#ifndef TASKS_TRAIN_FAULTS_H
#define TASKS_TRAIN_FAULTS_H
#include "tasks/proto/frame.h"

/* The faults of frame_decode() come first, with their numbers. */
enum fault {
    FAULT_PARTS = FRAME_BAD_PAYLOAD + 1, /* not a message of one part */
    FAULT_KEY,                           /* of another ensemble, or of a stranger */
    FAULT_GENERATION,
    FAULT_MEMBER,     /* no member of the ensemble */
    FAULT_RANGE,      /* a step that is not possible */
    FAULT_DIRECTION,  /* a kind that only ranks send */
    FAULT_FIELD,      /* no such field, or not of the type and shape in the spec */
    FAULT_PARAMETERS, /* a HELLO without them */
    FAULT_SESSIONS,   /* too many streams of one member at once */
    FAULT_OPEN_STEPS, /* too many samples of which only some fields have come */
    FAULT_ENDED,      /* the training has ended: everything was drawn */
    FAULT_STOPPED,    /* the training draws no more while members send: they get no answer, and wait */
    FAULT_MEMORY,     /* the payload lies outside of the memory that the member shares */
    FAULT_ATTEMPT,    /* a HELLO of an attempt, while a later one of that member sends */
    FAULTS
};

/* Returns a word, the key in the status; NULL for 0 (no fault) and beyond FAULTS. */
const char *fault_name(int fault);
#endif
