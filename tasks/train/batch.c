#include "tasks/train/batch.h"

#include <string.h>

/* Copies a field whose first extent varies, one sample behind the other. */
static void copy_ragged(struct copies *copies, const struct field *field, int number, struct sample **batch, int count,
                        char *to, int64_t *offset)
{
    size_t at = 0;

    for (int i = 0; i < count; i++) {
        size_t bytes = sample_bytes(batch[i], number);

        offset[i] = (int64_t)(at / field->unit);
        copies_add(copies, to + at, sample_payload(batch[i], number), bytes);
        at += bytes;
    }
    offset[count] = (int64_t)(at / field->unit);
}

static void copy_field(struct copies *copies, const struct field *field, int number, struct sample **batch, int count,
                       char *to)
{
    for (int i = 0; i < count; i++)
        copies_add(copies, to + (size_t)i * field->bytes, sample_payload(batch[i], number), field->bytes);
}

void batch_copy(const struct train_config *config, struct copies *copies, struct sample **batch, int count,
                const struct batch_target *to)
{
    size_t width = (size_t)config->parameters;

    for (int f = 0; to->fields != NULL && f < config->fields.count; f++) {
        const struct field *field = &config->fields.field[f];

        if (to->fields[f] != NULL && field_varies(field))
            copy_ragged(copies, field, f, batch, count, to->fields[f], to->offsets[f]);
        else if (to->fields[f] != NULL)
            copy_field(copies, field, f, batch, count, to->fields[f]);
    }
    copies_make(copies);
    for (int i = 0; i < count; i++) {
        if (to->params != NULL && width > 0)
            memcpy(to->params + (size_t)i * width, batch[i]->params->value, width * sizeof *to->params);
        if (to->member != NULL)
            to->member[i] = (int64_t)batch[i]->member;
        if (to->step != NULL)
            to->step[i] = batch[i]->step;
    }
}
