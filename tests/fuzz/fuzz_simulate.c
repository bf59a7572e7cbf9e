/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes inventories and traces of the simulator, one behind the other with a line "===" between, and simulates what is small, with all
 * invariants checked: whatever a file says, it is refused, or nothing is lost.
 */
#include "tests/fuzz/fuzz_target.h"

#include "ensemble/simulate_state.h"

#include <stdlib.h>
#include <string.h>

static bool is_small(const gnti_world *w)
{
    return w->num_devices <= 16 && w->num_tasks <= 32 && w->num_epochs <= 2000.0;
}

static void try_world(const gnti_yaml *inventory, const gnti_yaml *trace)
{
    const gnti_simulation s = { .policy = -1, .moves = -1, .seed = 1, .check = true };
    gnti_world *w = NULL;
    gnti_json *facts = NULL;
    gnt_status st = gnti_world_make(inventory, trace, 1, &w);

    fuzz_check_contract(st, w);
    if (st == GNT_OK && is_small(w)) {
        st = gnti_simulate_world(&s, w, &facts);
        if (st == GNT_ERR_INTERNAL)
            abort();
        fuzz_check_contract(st, facts);
    }
    gnti_json_free(&facts);
    gnti_world_free(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "===\n";
    const char *text = (const char *)data;
    const char *middle = size == 0 ? NULL : memmem(text, size, mark, sizeof mark - 1);
    gnti_yaml *inventory = NULL, *trace = NULL;

    if (middle == NULL)
        return 0;
    if (gnti_yaml_parse(text, (size_t)(middle - text), "inventory", &inventory) == GNT_OK &&
        gnti_yaml_parse(middle + 4, size - (size_t)(middle - text) - 4, "trace", &trace) == GNT_OK)
        try_world(inventory, trace);
    gnti_yaml_free(&inventory);
    gnti_yaml_free(&trace);
    return 0;
}
