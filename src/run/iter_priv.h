/* SPDX-License-Identifier: Apache-2.0 */
/* Everything of the running part. */
#ifndef LEVADA_RUN_ITER_PRIV_H
#define LEVADA_RUN_ITER_PRIV_H

#include "run/context.h"
#include "run/node.h"
#include "run/plan.h"

#endif
