/* The reason why somebody should check an ensemble: it does not go on by itself, or went wrong within the last week. */
#ifndef API_ENSEMBLE_TROUBLE_H
#define API_ENSEMBLE_TROUBLE_H
#include "api/request.h"
#include "daemon/store/ensemble.h"

#define TROUBLE_SIZE 700

/* Writes a sentence, or "" if nobody needs to. Returns 0, or -1 if the store cannot be read. */
int ensemble_trouble(const struct request *r, const struct ensemble_row *row, char out[TROUBLE_SIZE],
                     struct error *err);
/* Answers a query for such ensembles alone, newest first. Each ensemble is looked at, some in each turn of the loop. */
void ensembles_in_trouble(struct request *r, const struct ensemble_filter *filter);
#endif
