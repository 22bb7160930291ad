/* SPDX-License-Identifier: Apache-2.0 */
#include "support/register.h"

#include "description/dataset_priv.h"

static levada_status register_check(levada_env *env, const levada_op *op, levada_error *err)
{
    for (const levada_arg *arg = op->args; arg->name; arg++) {
        levada_value *value = NULL;
        levada_status st = levada_parse_default(env, op, arg, NULL, &value, err);

        levada_value_destroy(&value);
        if (st != LEVADA_OK) levada_error_wrap(err, "%s", op->name);
        if (st != LEVADA_OK) return st;
    }
    return LEVADA_OK;
}

levada_status t_register(levada_env *env, levada_family family, const void *def,
                         const char *plugin, levada_error *err)
{
    levada_op    *op = NULL;
    levada_status st = levada_op_create(family, def, plugin, &op, err);

    if (st == LEVADA_OK) st = register_check(env, op, err);
    if (st == LEVADA_OK) st = levada_registry_insert(levada_env_registry(env), &op, 1, err);
    if (st != LEVADA_OK) levada_op_destroy(&op);
    return st;
}

levada_status t_enter_plugin(levada_env *env, const char *name, const char *path, int64_t version)
{
    levada_plugin_info *made = NULL;

    LEVADA_TRY(levada_env_make_plugin(env, name, path, version, &made, NULL));
    levada_env_take_plugin(env, made);
    return LEVADA_OK;
}
