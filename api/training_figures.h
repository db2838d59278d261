/* The part of /metrics that is about trainings: of those that are under way only, so that what it costs does not grow with
 * what was. */
#ifndef API_TRAINING_FIGURES_H
#define API_TRAINING_FIGURES_H
#include "api/request.h"

/* Append it to `text`, which is taken over, and reply with that: at once, or when the ranks' files have been read. */
void training_figures_reply(struct request *r, char *text);
#endif
