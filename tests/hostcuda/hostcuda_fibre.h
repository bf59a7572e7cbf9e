/* SPDX-License-Identifier: Apache-2.0 */
/* Fibres: stacks that one CPU thread switches between. A few instructions on x86-64, ucontext elsewhere. */
#ifndef GNT_HOSTCUDA_FIBRE_H
#define GNT_HOSTCUDA_FIBRE_H

#include <cstddef>

namespace hostcuda
{

struct fibre;
/* A fibre of the calling thread's pool, that runs main(user) when it is first entered. */
fibre *fibre_take(void (*main)(void *user), void *user);
void fibre_give(fibre *f); /* back to the pool, when it is over */
/* From the thread's own stack into a fibre, until that one leaves or is over. */
void fibre_enter(fibre *f);
void fibre_leave();
/* From the running fibre into another one; who leaves that one for the thread's own stack comes to where the first was entered. */
void fibre_pass(fibre *to);
bool fibre_overflows(const void *address); /* lies behind the end of the running fibre's stack */

} // namespace hostcuda
#endif
