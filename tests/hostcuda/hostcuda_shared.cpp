/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/hostcuda/hostcuda_block.h"
namespace hostcuda
{
void fill_shared()
{
}
} // namespace hostcuda
