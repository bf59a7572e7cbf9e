/* SPDX-License-Identifier: Apache-2.0 */
/* A layer that records a random network from its seed: "random:8:seed=7". Every op of the tape occurs, in any order, values
 * are read by several others, parameters are used more than once. Works in square and in bipartite spaces.
 */
#ifndef GNT_NN_RANDOM_H
#define GNT_NN_RANDOM_H

#include <gnntrain/layer.h>

extern const gnt_layer_class nn_random_layer;

#endif
