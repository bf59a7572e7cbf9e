/* SPDX-License-Identifier: Apache-2.0 */
/* The parallel loop of the CPU backend. One thread runs the loop itself: the OpenMP runtime asks for memory for every
 * region of one thread, and steps must not.
 */
#include "kernels/cpu/cpu.h"

#include <omp.h>

void cpu_each(int32_t team, int64_t count, void *user, cpu_body body)
{
    if (team <= 1 || count <= 1) {
        for (int64_t i = 0; i < count; i++)
            body(user, i, 0);
        return;
    }
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (int64_t i = 0; i < count; i++)
        body(user, i, omp_get_thread_num());
}
