/* The rendezvous of the processes of one task: their hosts, an address and a port. */
#ifndef TASKS_RUNNER_RENDEZVOUS_H
#define TASKS_RUNNER_RENDEZVOUS_H
#include "common/error.h"
#include "tasks/proto/jobdesc.h"
#include "tasks/runner/environment.h"
#include "tasks/runner/program.h"

#define RENDEZVOUS_WORDS 5

struct rendezvous {
    char *hosts;    /* "a:2,b:2"; NULL: there is no rendezvous */
    char *hostfile; /* a file in the task's directory, with a line for each host */
    char *address;  /* of the first host */
    char port[8];
    int lock; /* holds the port while the task runs */
};

/* Makes the rendezvous of a task that may have several processes, or has a launcher; another one gets none. */
int rendezvous_make(struct rendezvous *r, const struct jobdesc *desc, const struct jobdesc_task *task,
                    struct error *err);

/* Sets STRETTO_HOSTS, STRETTO_HOSTFILE, MASTER_ADDR and MASTER_PORT; of the latter two, the task's own are left. */
void rendezvous_tell(const struct rendezvous *r, const struct jobdesc_task *task, struct task_environment *env);

/* Sets the values of a launcher's placeholders: RENDEZVOUS_WORDS words, the last of which has no name. */
void rendezvous_words(const struct rendezvous *r, struct program_word words[RENDEZVOUS_WORDS]);

void rendezvous_fini(struct rendezvous *r);

#endif
