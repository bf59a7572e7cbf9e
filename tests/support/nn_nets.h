/* SPDX-License-Identifier: Apache-2.0 */
/* The golden networks (mlp, gcn, sage, gin, sgc, appnp, gcnii) as layers that record a whole network each:
 * "net:kind=gcn:hidden=16". Parameters are declared in the order of the golden files.
 */
#ifndef GNT_NN_NETS_H
#define GNT_NN_NETS_H

#include <gnntrain/layer.h>

extern const gnt_layer_class nn_net_layer;

#endif
