#include "api/ensemble_trouble.h"

#include "common/text.h"
#include "daemon/store/training.h"

#include <stdio.h>
#include <string.h>

#define RECENT_MS (INT64_C(7) * 86400 * 1000) /* older failures are history */

/* The notices whose causes do not pass by themselves. */
static bool is_urgent(const char *code)
{
    static const char *const urgent[] = {"held",
                                         "ending",
                                         "adapter_not_here",
                                         "not_readable",
                                         "adapter_not_set_up",
                                         "adapter_silent",
                                         "state_not_written",
                                         "no_room",
                                         "not_submitted",
                                         "training_silent"};

    for (size_t i = 0; i < sizeof urgent / sizeof *urgent; i++)
        if (strcmp(code, urgent[i]) == 0)
            return true;
    return false;
}

static int failed_training(const struct request *r, int64_t ensemble, char out[TROUBLE_SIZE], struct error *err)
{
    struct training_row training;
    int rc = store_training_of(request_store(r), ensemble, &training, err);

    if (rc == 1 && training.state == TRAINING_FAILED)
        snprintf(out, TROUBLE_SIZE, "its training has failed%s%.600s", training.reason[0] ? ": " : "", training.reason);
    return rc < 0 ? -1 : 0;
}

int ensemble_trouble(const struct request *r, const struct ensemble_row *row, char out[TROUBLE_SIZE], struct error *err)
{
    int64_t n[MEMBER_STATE_COUNT] = {0};
    struct engine_notice notice;

    out[0] = '\0';
    if (row->ended_ms != 0 && request_now_ms(r) - row->ended_ms > RECENT_MS)
        return 0;
    if (engine_notice(request_config(r)->engine, row, &notice) && is_urgent(notice.code))
        text_copy(out, TROUBLE_SIZE, notice.text);
    else if (row->state == ENSEMBLE_FAILED)
        text_copy(out, TROUBLE_SIZE, row->reason[0] ? row->reason : "it has failed");
    else if (failed_training(r, row->id, out, err) < 0 || store_tally_get(request_store(r), row->id, n, err) < 0)
        return -1;
    if (out[0] == '\0' && n[MEMBER_FAILED] > 0)
        snprintf(out, TROUBLE_SIZE, "%lld of %lld members %s failed", (long long)n[MEMBER_FAILED],
                 (long long)row->count, n[MEMBER_FAILED] == 1 ? "has" : "have");
    return 0;
}
