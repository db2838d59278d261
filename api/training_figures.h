/* Makes the part of /metrics about trainings. It reports only those under way, so that its cost does not grow with past
 * ones. */
#ifndef API_TRAINING_FIGURES_H
#define API_TRAINING_FIGURES_H
#include "api/request.h"

/* Appends it to `text`, which is taken over, and answers with that: at once, or when the ranks' files have been
 * read. */
void training_figures_reply(struct request *r, char *text);
#endif
