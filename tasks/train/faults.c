#include "tasks/train/faults.h"

#include <stddef.h>

const char *fault_name(int fault)
{
    static const char *const names[FAULTS] = {
        [FRAME_SHORT] = "short",
        [FRAME_BAD_MAGIC] = "magic",
        [FRAME_BAD_VERSION] = "version",
        [FRAME_BAD_CHECKSUM] = "header_checksum",
        [FRAME_BAD_KIND] = "kind",
        [FRAME_BAD_FLAGS] = "flags",
        [FRAME_BAD_SHAPE] = "shape",
        [FRAME_BAD_STEP] = "negative_step",
        [FRAME_BAD_LENGTH] = "length",
        [FRAME_BAD_PAYLOAD] = "payload_checksum",
        [FAULT_PARTS] = "parts",
        [FAULT_KEY] = "key",
        [FAULT_GENERATION] = "generation",
        [FAULT_MEMBER] = "member",
        [FAULT_RANGE] = "step",
        [FAULT_DIRECTION] = "direction",
        [FAULT_FIELD] = "field",
        [FAULT_PARAMETERS] = "parameters",
        [FAULT_SESSIONS] = "sessions",
        [FAULT_OPEN_STEPS] = "open_steps",
        [FAULT_ENDED] = "ended",
        [FAULT_STOPPED] = "stopped",
        [FAULT_MEMORY] = "memory",
        [FAULT_ATTEMPT] = "attempt",
    };

    return fault > 0 && fault < FAULTS ? names[fault] : NULL;
}
