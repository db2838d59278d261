#include "daemon/spec/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODE "spec_parameter_file"
#define ITEM_MAX ((size_t)1 << 20) /* bytes of a text */

int npy_header_size(const unsigned char bytes[NPY_PREAMBLE], size_t *preamble, size_t *text, struct error *err)
{
    static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

    if (memcmp(bytes, magic, sizeof magic) != 0)
        return error_set(err, CODE, "it is no array of NumPy");
    if (bytes[6] < 1 || bytes[6] > 3)
        return error_set(err, CODE, "its format has version %d, and 1 to 3 are known", bytes[6]);
    *preamble = bytes[6] == 1 ? 10 : 12;
    *text = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1)
        *text |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (*text > NPY_HEADER_MAX)
        return error_set(err, CODE, "its header has more than %zu bytes", NPY_HEADER_MAX);
    return 0;
}

/* The header's text is a dictionary as Python writes it. */
struct scan {
    const char *p, *end;
};

static void skip_header_blanks(struct scan *in)
{
    while (in->p < in->end && strchr(" \t\r\n", *in->p) != NULL && *in->p != '\0')
        in->p++;
}

static bool take_punctuation(struct scan *in, char c)
{
    skip_header_blanks(in);
    if (in->p == in->end || *in->p != c)
        return false;
    in->p++;
    return true;
}

static bool take_word(struct scan *in, const char *word)
{
    size_t size = strlen(word);

    skip_header_blanks(in);
    if ((size_t)(in->end - in->p) < size || memcmp(in->p, word, size) != 0)
        return false;
    in->p += size;
    return true;
}

/* Reads a string in single or double quotes. */
static bool take_string(struct scan *in, char *out, size_t room)
{
    char quote;
    size_t n = 0;

    skip_header_blanks(in);
    if (in->p == in->end || (*in->p != '\'' && *in->p != '"'))
        return false;
    quote = *in->p++;
    while (in->p < in->end && *in->p != quote && *in->p != '\\' && n + 1 < room)
        out[n++] = *in->p++;
    out[n] = '\0';
    return take_punctuation(in, quote);
}

static bool take_extent(struct scan *in, int64_t *out)
{
    int64_t n = 0;
    size_t digits = 0;

    skip_header_blanks(in);
    for (; in->p < in->end && *in->p >= '0' && *in->p <= '9' && digits < 18; digits++)
        n = 10 * n + (*in->p++ - '0');
    *out = n;
    if (in->p < in->end && *in->p == 'L') /* as Python 2 wrote it */
        in->p++;
    return digits > 0;
}

static bool take_shape(struct scan *in, struct npy *out)
{
    out->dimensions = 0;
    if (!take_punctuation(in, '('))
        return false;
    while (!take_punctuation(in, ')')) {
        if (out->dimensions == NPY_DIMENSIONS_MAX || !take_extent(in, &out->shape[out->dimensions++]))
            return false;
        if (!take_punctuation(in, ','))
            return take_punctuation(in, ')');
    }
    return true;
}

static bool has_size(const struct npy *array, size_t a, size_t b, size_t c, size_t d)
{
    return array->item == a || array->item == b || array->item == c || array->item == d;
}

static int parse_type(const char *descr, struct npy *out, struct error *err)
{
    const char *p = descr;
    unsigned long size;
    char *end;
    bool known;

    out->big_endian = *p == '>';
    p += *p == '<' || *p == '>' || *p == '|' || *p == '=';
    size = *p != '\0' && p[1] >= '0' && p[1] <= '9' ? strtoul(p + 1, &end, 10) : ITEM_MAX + 1;
    out->item = size;
    known = size <= ITEM_MAX && *end == '\0';
    switch (*p) {
    case 'b':
        out->kind = NPY_BOOL;
        known = known && size == 1;
        break;
    case 'i':
        out->kind = NPY_INTEGER;
        known = known && has_size(out, 1, 2, 4, 8);
        break;
    case 'u':
        out->kind = NPY_UNSIGNED;
        known = known && has_size(out, 1, 2, 4, 8);
        break;
    case 'f':
        out->kind = NPY_FLOAT;
        known = known && has_size(out, 2, 4, 8, 8);
        break;
    case 'S': out->kind = NPY_BYTES; break;
    case 'U':
        out->kind = NPY_TEXT;
        out->item *= 4;
        known = known && out->item <= ITEM_MAX;
        break;
    default: known = false;
    }
    if (known)
        return 0;
    return error_set(err, CODE,
                     "its items are of the type \"%.40s\"; integers, float16 to float64, booleans and texts can be "
                     "read",
                     descr);
}

int npy_parse(const char *text, size_t size, struct npy *out, struct error *err)
{
    struct scan in = {text, text + size};
    bool well = take_punctuation(&in, '{'), has[3] = {false, false, false};
    char key[16], descr[64];

    *out = (struct npy){.kind = NPY_BOOL};
    while (well && !take_punctuation(&in, '}')) {
        well = take_string(&in, key, sizeof key) && take_punctuation(&in, ':');
        if (well && strcmp(key, "descr") == 0) {
            skip_header_blanks(&in);
            if (in.p < in.end && *in.p == '[')
                return error_set(err, CODE, "its items are records; each array is one parameter");
            has[0] = well = take_string(&in, descr, sizeof descr);
        } else if (well && strcmp(key, "fortran_order") == 0) {
            out->fortran = take_word(&in, "True");
            has[1] = well = out->fortran || take_word(&in, "False");
        } else if (well && strcmp(key, "shape") == 0) {
            has[2] = well = take_shape(&in, out);
        } else {
            well = false;
        }
        if (well && !take_punctuation(&in, ',')) {
            well = take_punctuation(&in, '}');
            break;
        }
    }
    if (!well || !has[0] || !has[1] || !has[2])
        return error_set(err, CODE, "its header is damaged");
    if (strcmp(descr, "|O") == 0)
        out->kind = NPY_OBJECT;
    if (out->dimensions == 0)
        return error_set(err, CODE, "it is a single value; the first dimension of an array is that of the members");
    return parse_type(descr, out, err);
}

static uint64_t bits_of(const struct npy *array, const unsigned char *bytes)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < array->item; i++)
        bits = bits << 8 | bytes[array->big_endian ? i : array->item - 1 - i];
    return bits;
}

static json_t *signed_value(const struct npy *array, uint64_t bits)
{
    unsigned unused = 64 - 8 * (unsigned)array->item;

    return json_integer((int64_t)(bits << unused) >> unused); /* with its sign */
}

/* Returns the value of a float16; for the one beyond the largest, what would come next. */
static double half(unsigned bits)
{
    unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, (int)exponent - 25);

    return bits >> 15 ? -value : value;
}

/* Returns whether a decimal number is nearer to this float16 than to its neighbours. */
static bool is_half(double x, unsigned bits)
{
    double value = half(bits), up = half(bits + 1);
    double down = (bits & 0x7fff) == 0 ? -half(1) : half(bits - 1);

    if (value < 0) {
        double other = up;

        up = down;
        down = other;
    }
    return x > value - (value - down) / 2 && x < value + (up - value) / 2;
}

static json_t *real_value(const struct npy *array, uint64_t bits, struct error *err)
{
    double value;
    float single;
    char text[40];

    if (array->item == 8) {
        memcpy(&value, &bits, sizeof value);
    } else if (array->item == 4) {
        uint32_t small = (uint32_t)bits;

        memcpy(&single, &small, sizeof single);
        value = (double)single;
    } else {
        value = (bits >> 10 & 31) == 31 ? NAN : half((unsigned)bits);
    }
    if (!isfinite(value)) {
        error_set(err, CODE, "a value is NaN or infinite, which no parameter can be");
        return NULL;
    }
    for (int digits = 1; array->item < 8 && digits < 10; digits++) {
        double x;

        snprintf(text, sizeof text, "%.*g", digits, value);
        x = strtod(text, NULL);
        if (array->item == 4 ? strtof(text, NULL) == single : is_half(x, (unsigned)bits))
            return json_real(x);
    }
    return json_real(value);
}

static json_t *utf8_value(const char *text, size_t size, struct error *err)
{
    json_t *value = memchr(text, '\0', size) == NULL ? json_stringn(text, size) : NULL;

    if (value == NULL)
        error_set(err, CODE, "a text is not UTF-8, or has a zero byte in it");
    return value;
}

static size_t put_character(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18); /* beyond Unicode it is no UTF-8, which is noticed */
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* Reads UTF-32 that is filled up with zeros. */
static json_t *unicode(const struct npy *array, const unsigned char *bytes, struct error *err)
{
    struct npy one = {.item = 4, .big_endian = array->big_endian};
    size_t n = array->item / 4, size = 0;
    char *text = malloc(array->item + 1);
    json_t *value = NULL;

    while (n > 0 && bits_of(&one, bytes + 4 * (n - 1)) == 0)
        n--;
    for (size_t i = 0; text != NULL && i < n; i++) {
        uint32_t c = (uint32_t)bits_of(&one, bytes + 4 * i);

        size += put_character(text + size, c > 0x10ffff ? 0x1fffff : c);
    }
    if (text != NULL)
        value = utf8_value(text, size, err);
    else
        error_set(err, CODE, "there is no memory");
    free(text);
    return value;
}

json_t *npy_item(const struct npy *array, const unsigned char *bytes, struct error *err)
{
    size_t size = array->item;
    uint64_t bits;

    switch (array->kind) {
    case NPY_TEXT: return unicode(array, bytes, err);
    case NPY_BYTES:
        while (size > 0 && bytes[size - 1] == 0)
            size--;
        return utf8_value((const char *)bytes, size, err);
    case NPY_BOOL: return json_boolean(bytes[0] != 0);
    default: break;
    }
    bits = bits_of(array, bytes);
    if (array->kind == NPY_FLOAT)
        return real_value(array, bits, err);
    if (array->kind == NPY_INTEGER || bits <= INT64_MAX)
        return array->kind == NPY_INTEGER ? signed_value(array, bits) : json_integer((json_int_t)bits);
    error_set(err, CODE, "an integer is larger than %lld", (long long)INT64_MAX);
    return NULL;
}
