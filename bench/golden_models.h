/* SPDX-License-Identifier: Apache-2.0 */
/* Models of the golden numbers as layers made of our ops, for bench_golden.
 *
 * The names of parameters and their order are the order in which the golden files number them.
 */
#ifndef GNT_BENCH_GOLDEN_MODELS_H
#define GNT_BENCH_GOLDEN_MODELS_H

#include <gnntrain/gnntrain.h>

/* Registers the layers that are not built in. */
gnt_status golden_register(gnt_context *ctx);

/* The model text of a name with this hidden width; false when there is no such model. */
bool golden_text(const char *name, int hidden, char *out, size_t bytes);

#endif
