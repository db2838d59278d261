/* An engine for handlers that only ask it: all ensembles have the same spec, and each figure that it tells differs from
 * all others. A program that is linked with fake_engine.c has these functions instead of those of daemon/engine/ and
 * daemon/adapters.c. */
#ifndef TESTS_FAKE_ENGINE_H
#define TESTS_FAKE_ENGINE_H
#include "tests/unit/fake_request.h"

extern const char *fake_engine_notice; /* the code of what ensembles wait for; NULL: "held" */
extern bool fake_engine_is_well; /* nothing waits, nothing is held, nothing was changed */

/* Sets the spec of all ensembles, as JSON; NULL: none, as at the end of each test. The engine has another one in each
 * turn, and the one of the last turn is gone. */
void fake_engine_spec(const char *text);
/* Asks the handler again and again while each time another reading of the spec fails: the answer must say so, or be the
 * same as without that. Some reading must fail. */
void is_told_that_the_spec_is_lost(void (*handler)(struct request *r), const struct asked *asked);
#endif
