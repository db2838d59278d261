#include "daemon/rundir/own_files.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <unistd.h>

const char *const attempt_files[ATTEMPT_FILES] = {[ATTEMPT_FILE_STDOUT] = "stdout",
                                                  [ATTEMPT_FILE_STDERR] = "stderr",
                                                  "alive",
                                                  "points",
                                                  "metrics.jsonl",
                                                  "exit.json"};
const char *const job_files[JOB_FILES] = {"job.json", "claim.json", "ended.json", "runner.log"};

void member_dir_remove_empty(const char *member)
{
    char *checkpoints = xasprintf("%s/checkpoint", member), *records = xasprintf("%s/.stretto", checkpoints);

    rmdir(records); /* each of these fails if something is in it */
    rmdir(checkpoints);
    rmdir(member);
    free(records);
    free(checkpoints);
}
