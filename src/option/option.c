/* SPDX-License-Identifier: Apache-2.0 */
#include "option/option_priv.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool levada_option_is_list(levada_arg_type type)
{
    return type == LEVADA_ARG_INTS || type == LEVADA_ARG_FLOATS || type == LEVADA_ARG_TEXTS;
}

bool levada_option_holds_text(levada_arg_type type)
{
    return type == LEVADA_ARG_TEXT || type == LEVADA_ARG_TEXTS || type == LEVADA_ARG_CHOICE ||
           type == LEVADA_ARG_DTYPE;
}

levada_print levada_option_print(const levada_arg *arg)
{
    return levada_option_holds_text(arg->type) ? LEVADA_PRINT_PLAIN : LEVADA_PRINT_TEXT;
}

levada_where levada_where_is(const char *text, size_t size, const char *file, size_t offset)
{
    levada_where where = {""};
    size_t       line = 1, column = 1;

    for (size_t i = 0; i < offset && i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n') {
            line++;
            column = 1;
        } else if ((c & 0xC0u) != 0x80u) {
            column++; /* characters, not bytes */
        }
    }
    int n = line == 1 ? snprintf(where.text, sizeof(where.text), " at column %zu", column)
                      : snprintf(where.text, sizeof(where.text), " at line %zu column %zu", line,
                                 column);
    if (file != NULL && n > 0 && (size_t)n < sizeof(where.text)) {
        snprintf(where.text + n, sizeof(where.text) - (size_t)n, " of %s", file);
    }
    return where;
}

int32_t levada_option_find(const levada_arg *args, const char *name)
{
    for (int32_t i = 0; args[i].name != NULL; i++) {
        if (strcmp(args[i].name, name) == 0) return i;
    }
    return -1;
}

int32_t levada_option_positional(const levada_arg *args)
{
    for (int32_t i = 0; args[i].name != NULL; i++) {
        if (args[i].positional) return i;
    }
    return -1;
}

levada_status levada_option_unknown(const levada_arg *args, const char *name, const char *where,
                                    levada_error *err)
{
    enum { OPTION_LIST = 130 };
    levada_text   list = {0};
    const char   *best = NULL;
    size_t        distance = SIZE_MAX;
    bool          cut = false;
    levada_status status;

    for (const levada_arg *arg = args; arg->name != NULL; arg++) {
        levada_nearest(name, arg->name, &best, &distance);
        cut = cut || list.size + strlen(arg->name) > OPTION_LIST;
        if (!cut) levada_text_format(&list, "%s%s", list.size > 0 ? ", " : "", arg->name);
    }
    if (args[0].name == NULL) levada_text_put(&list, "none");
    if (cut) levada_text_put(&list, ", ...");
    const char *allowed = list.at != NULL ? list.at : "";
    if (best != NULL) {
        status = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                             "unknown option '%.48s'%s; allowed: %s; did you mean '%s'?", name,
                             where, allowed, best);
    } else {
        status = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                             "unknown option '%.48s'%s; allowed: %s", name, where, allowed);
    }
    levada_text_clear(&list);
    return status;
}

typedef struct option_binder {
    const levada_binding *by;
    levada_value         *given;
    levada_bound         *out;
} option_binder;

static levada_where option_where(const levada_places *places, int32_t i)
{
    if (places == NULL || places->at[i] == 0) return (levada_where){""};
    return levada_where_is(places->text, places->size, places->file, places->at[i]);
}

static levada_status option_check_names(const option_binder *b, levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(b->given); i++) {
        const char *name = levada_value_key(b->given, i);
        if (name == NULL) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "options must be a map of names to values, got a list");
        }
        if (levada_option_find(b->by->args, name) < 0) {
            return levada_option_unknown(b->by->args, name, "", err);
        }
    }
    return LEVADA_OK;
}

/* Chooses the value of option i: given, or its default. Null counts as not given. */
static levada_status option_choose(const option_binder *b, int32_t i, levada_value **out,
                                   levada_error *err)
{
    const levada_arg *arg = &b->by->args[i];
    levada_value     *value = levada_value_take(b->given, arg->name);

    if (levada_value_kind_of(value) == LEVADA_VALUE_NULL) {
        levada_value_destroy(&value);
        if (arg->required) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "option '%s' is required",
                               arg->name);
        }
        return b->by->otherwise(b->by->user, arg, out, err);
    }
    levada_status status = levada_option_convert(arg, &value, err);
    if (status == LEVADA_OK) {
        *out = value;
        return LEVADA_OK;
    }
    levada_value_destroy(&value);
    levada_where where = option_where(b->by->places, i);
    if (where.text[0] == '\0' || err == NULL) return status;
    levada_error inner = *err;
    return levada_fail(err, status, "%s%s", inner.message, where.text);
}

/* Returns an array that lives as long as the dataset. */
static void *option_array(levada_bound *out, int64_t n, size_t size)
{
    void *array = n > 0 ? levada_alloc_zero((size_t)n * size) : NULL;

    if (array != NULL) out->memory[out->nmemory++] = array;
    return array;
}

static levada_status option_store_ints(levada_bound *out, void *to, const levada_value *value,
                                       levada_error *err)
{
    levada_ints ints = {NULL, levada_value_count(value)};
    int64_t    *at = option_array(out, ints.n, sizeof(*at));

    if (ints.n > 0 && at == NULL) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    for (int64_t i = 0; i < ints.n; i++) at[i] = levada_value_as_int(levada_value_item(value, i));
    ints.at = at;
    memcpy(to, &ints, sizeof(ints));
    return LEVADA_OK;
}

static levada_status option_store_floats(levada_bound *out, void *to, const levada_value *value,
                                         levada_error *err)
{
    levada_floats floats = {NULL, levada_value_count(value)};
    double       *at = option_array(out, floats.n, sizeof(*at));

    if (floats.n > 0 && at == NULL) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    for (int64_t i = 0; i < floats.n; i++) {
        at[i] = levada_value_as_float(levada_value_item(value, i));
    }
    floats.at = at;
    memcpy(to, &floats, sizeof(floats));
    return LEVADA_OK;
}

static levada_status option_store_texts(levada_bound *out, void *to, const levada_value *value,
                                        levada_error *err)
{
    levada_texts texts = {NULL, levada_value_count(value)};
    const char **at = option_array(out, texts.n, sizeof(*at));

    if (texts.n > 0 && at == NULL) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    for (int64_t i = 0; i < texts.n; i++) {
        at[i] = levada_value_as_text(levada_value_item(value, i), NULL);
    }
    texts.at = at;
    memcpy(to, &texts, sizeof(texts));
    return LEVADA_OK;
}

#define OPTION_STORE(to, type, value) memcpy(to, &(type){value}, sizeof(type))

/* Fills the member of args; the value has the option's type. */
static levada_status option_store(levada_bound *out, const levada_arg *arg,
                                  const levada_value *value, levada_error *err)
{
    void       *to = (char *)out->args + arg->offset;
    bool        null = levada_value_kind_of(value) == LEVADA_VALUE_NULL;
    const char *text = levada_value_as_text(value, NULL);

    switch (arg->type) {
    case LEVADA_ARG_NONE: break;
    case LEVADA_ARG_INT:
    case LEVADA_ARG_SIZE:
        OPTION_STORE(to, int64_t, null ? LEVADA_NULL_INT : levada_value_as_int(value));
        break;
    case LEVADA_ARG_FLOAT:
        OPTION_STORE(to, double, null ? NAN : levada_value_as_float(value));
        break;
    case LEVADA_ARG_BOOL: OPTION_STORE(to, bool, levada_value_as_bool(value)); break;
    case LEVADA_ARG_TEXT: OPTION_STORE(to, const char *, text); break;
    case LEVADA_ARG_CHOICE:
        OPTION_STORE(to, int64_t, levada_option_choice(arg->choices, text, strlen(text)));
        break;
    case LEVADA_ARG_DTYPE:
        OPTION_STORE(to, levada_dtype, null ? LEVADA_NONE : levada_dtype_find(text));
        break;
    case LEVADA_ARG_INTS: return option_store_ints(out, to, value, err);
    case LEVADA_ARG_FLOATS: return option_store_floats(out, to, value, err);
    case LEVADA_ARG_TEXTS: return option_store_texts(out, to, value, err);
    case LEVADA_ARG_VALUE: OPTION_STORE(to, const levada_value *, null ? NULL : value); break;
    case LEVADA_ARG_FUNCTION:
        OPTION_STORE(to, const levada_function *, levada_value_as_function(value));
        break;
    case LEVADA_ARG_BLOCK:
        OPTION_STORE(to, const levada_block *, levada_value_as_block(value));
        break;
    case LEVADA_ARG_PIPE:
        OPTION_STORE(to, const levada_dataset *, levada_value_as_pipe(value));
        break;
    }
    return LEVADA_OK;
}

static levada_status option_bind_one(const option_binder *b, int32_t i, levada_error *err)
{
    const levada_arg *arg = &b->by->args[i];
    levada_value     *value = NULL;

    LEVADA_TRY(option_choose(b, i, &value, err));
    levada_status status = option_store(b->out, arg, value, err);
    if (status == LEVADA_OK) status = levada_value_set(b->out->options, arg->name, &value, err);
    levada_value_destroy(&value);
    return status;
}

levada_status levada_option_bind(const levada_binding *by, levada_value *given, levada_bound *out,
                                 levada_error *err)
{
    levada_bound  bound = {levada_value_map(), levada_alloc_zero(by->args_size),
                           levada_alloc_zero(LEVADA_MAX_OPTIONS * sizeof(void *)), 0};
    option_binder b = {by, given, &bound};
    levada_status status = LEVADA_OK;

    if (bound.options == NULL || bound.args == NULL || bound.memory == NULL) {
        status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    if (status == LEVADA_OK) status = option_check_names(&b, err);
    for (int32_t i = 0; status == LEVADA_OK && by->args[i].name != NULL; i++) {
        status = option_bind_one(&b, i, err);
    }
    if (status == LEVADA_OK) *out = bound;
    else levada_bound_clear(&bound);
    return status;
}

void levada_bound_clear(levada_bound *bound)
{
    for (int32_t i = 0; i < bound->nmemory; i++) levada_free(bound->memory[i]);
    levada_free(bound->memory);
    levada_free(bound->args);
    levada_value_destroy(&bound->options);
    *bound = (levada_bound){0};
}

/* Returns the number of bytes of the member that an option fills. */
static size_t option_size(levada_arg_type type)
{
    switch (type) {
    case LEVADA_ARG_NONE: return 0;
    case LEVADA_ARG_INT:
    case LEVADA_ARG_SIZE:
    case LEVADA_ARG_CHOICE: return sizeof(int64_t);
    case LEVADA_ARG_FLOAT: return sizeof(double);
    case LEVADA_ARG_BOOL: return sizeof(bool);
    case LEVADA_ARG_DTYPE: return sizeof(levada_dtype);
    case LEVADA_ARG_INTS: return sizeof(levada_ints);
    case LEVADA_ARG_FLOATS: return sizeof(levada_floats);
    case LEVADA_ARG_TEXTS: return sizeof(levada_texts);
    case LEVADA_ARG_TEXT:
    case LEVADA_ARG_VALUE:
    case LEVADA_ARG_FUNCTION:
    case LEVADA_ARG_BLOCK:
    case LEVADA_ARG_PIPE: return sizeof(void *);
    }
    return 0;
}

static levada_status option_check_row(const levada_arg *args, int32_t i, size_t args_size,
                                      levada_error *err)
{
    const levada_arg *arg = &args[i];
    size_t            size = option_size(arg->type);
    const char       *wrong = NULL;

    if (size == 0) wrong = "has no type";
    else if (arg->offset > args_size || size > args_size - arg->offset) {
        wrong = "is outside args_size";
    } else if (levada_option_find(args, arg->name) != i) wrong = "is declared twice";
    else if (arg->name[strspn(arg->name, "abcdefghijklmnopqrstuvwxyz_0123456789")] != '\0') {
        wrong = "has a name that is not in lower case";
    } else if (arg->positional && levada_option_positional(args) != i) {
        wrong = "is a second positional option";
    } else if (arg->type == LEVADA_ARG_CHOICE && arg->choices == NULL) wrong = "has no choices";
    else if (arg->min > arg->max && arg->max != 0) wrong = "has a min greater than its max";
    if (wrong == NULL) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "option '%s' %s", arg->name, wrong);
}

levada_status levada_option_check_table(const levada_arg *args, size_t args_size,
                                        levada_error *err)
{
    for (int32_t i = 0; args[i].name != NULL; i++) {
        if (i >= LEVADA_MAX_OPTIONS) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "a stage must have at most %d options", LEVADA_MAX_OPTIONS);
        }
        LEVADA_TRY(option_check_row(args, i, args_size, err));
    }
    return LEVADA_OK;
}
