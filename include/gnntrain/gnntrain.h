/* SPDX-License-Identifier: Apache-2.0 */
/* Everything of the stable interface. */
#ifndef GNNTRAIN_GNNTRAIN_H
#define GNNTRAIN_GNNTRAIN_H

#include <gnntrain/context.h>
#include <gnntrain/dataset.h>
#include <gnntrain/layer.h>
#include <gnntrain/log.h>
#include <gnntrain/model.h>
#include <gnntrain/op.h>
#include <gnntrain/option.h>
#include <gnntrain/status.h>
#include <gnntrain/tape.h>
#include <gnntrain/trainer.h>

/* For programs: needs a local `gnt_status st` and a label `done`; goes there when the call fails. */
#ifndef GNT_TRY
#define GNT_TRY(call)                                                                                        \
    do {                                                                                                     \
        st = (call);                                                                                         \
        if (st != GNT_OK)                                                                                    \
            goto done;                                                                                       \
    } while (0)
#endif

#endif
