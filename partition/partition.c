/* SPDX-License-Identifier: Apache-2.0 */
/* A partition as a value: from a vector, hashed, freed; and the targets that every method of cutting gets.
 *
 * The hash is that of K and the vector alone (int64 K, then int32 chunks, little-endian): two ways to the same cut are one.
 */
#include "partition/partition_internal.h"

#include "base/sha256.h"

#include <math.h>

void gnti_partition_free(gnti_partition **partition)
{
    gnti_partition *p = *partition;

    if (p == NULL)
        return;
    gnti_free(p->chunk_of);
    gnti_free(p->chunk_nodes);
    gnti_free(p->shares);
    gnti_free(p->share_chunks);
    gnti_free(p->method);
    gnti_json_free(&p->quality);
    gnti_free(p);
    *partition = NULL;
}

static gnt_status hash_vector(gnti_partition *p)
{
    gnt_status st = GNT_OK;
    gnti_sha256 *hash = NULL;
    const int64_t chunks = p->num_chunks;

    GNT_TRY(gnti_sha256_create(&hash));
    GNT_TRY(gnti_sha256_update(hash, &chunks, sizeof chunks));
    GNT_TRY(gnti_sha256_update(hash, p->chunk_of, (size_t)p->num_nodes * sizeof *p->chunk_of));
    GNT_TRY(gnti_sha256_finish(hash, p->sha256));
done:
    gnti_sha256_free(&hash);
    return st;
}

gnt_status gnti_partition_from_vector(int64_t num_nodes, int32_t num_chunks, int32_t *chunk_of,
                                      const char *method, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_partition *p = NULL;

    GNT_CHECK(num_chunks >= 1, GNT_ERR_FORMAT, "a partition has %d chunks, at least 1 is needed", num_chunks);
    for (int64_t v = 0; v < num_nodes; v++)
        GNT_CHECK(chunk_of[v] >= 0 && chunk_of[v] < num_chunks, GNT_ERR_FORMAT,
                  "node %lld lies in chunk %d, there are %d", (long long)v, chunk_of[v], num_chunks);
    GNT_TRY(gnti_calloc_array(&p, 1));
    p->num_nodes = num_nodes;
    p->num_chunks = num_chunks;
    GNT_TRY(gnti_strdup(&p->method, method));
    GNT_TRY(gnti_calloc_array(&p->chunk_nodes, num_chunks));
    for (int64_t v = 0; v < num_nodes; v++)
        p->chunk_nodes[chunk_of[v]]++;
    p->chunk_of = chunk_of;
    st = hash_vector(p);
    if (st != GNT_OK)
        p->chunk_of = NULL; /* it stays the caller's */
    GNT_TRY(st);
    *out = p;
    p = NULL;
done:
    gnti_partition_free(&p);
    return st;
}

gnt_status gnti_partition_one(int64_t num_nodes, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    int32_t *chunk_of = NULL;

    GNT_TRY(gnti_calloc_array(&chunk_of, num_nodes));
    GNT_TRY(gnti_partition_from_vector(num_nodes, 1, chunk_of, "one", out));
    chunk_of = NULL;
done:
    gnti_free(chunk_of);
    return st;
}

int32_t gnti_default_chunks(int64_t num_nodes)
{
    int32_t k = 1;

    while (k < 64 && 2 * (int64_t)k * 60 <= num_nodes)
        k *= 2;
    return k;
}

void gnti_cut_targets_free(gnti_cut_targets **targets)
{
    gnti_cut_targets *t = *targets;

    if (t == NULL)
        return;
    gnti_free(t->chunk_share);
    gnti_free(t->share);
    gnti_free(t->share_chunks);
    gnti_free(t);
    *targets = NULL;
}

static gnt_status check_shares(const gnti_partition_config *c, double *sum)
{
    gnt_status st = GNT_OK;

    *sum = 0.0;
    for (int32_t s = 0; s < c->num_shares; s++) {
        GNT_CHECK(isfinite(c->shares[s]) && c->shares[s] > 0.0, GNT_ERR_USAGE,
                  "share %d is %g: every share must be above 0", s, c->shares[s]);
        *sum += c->shares[s];
    }
    GNT_CHECK(fabs(*sum - 1.0) <= 0.01, GNT_ERR_USAGE, "the %d shares sum to %g, 1 is needed", c->num_shares,
              *sum);
done:
    return st;
}

/* Chunks in proportion to the shares, at least one each: the next chunk goes where most is missing. */
static void deal_chunks(gnti_cut_targets *t, int32_t *count)
{
    for (int32_t s = 0; s < t->num_shares; s++)
        count[s] = 1;
    for (int32_t dealt = t->num_shares; dealt < t->num_chunks; dealt++) {
        int32_t to = 0;

        for (int32_t s = 1; s < t->num_shares; s++)
            if (t->share[s] / count[s] > t->share[to] / count[to])
                to = s;
        count[to]++;
    }
    t->share_chunks[0] = 0;
    for (int32_t s = 0; s < t->num_shares; s++) {
        t->share_chunks[s + 1] = t->share_chunks[s] + count[s];
        for (int32_t c = t->share_chunks[s]; c < t->share_chunks[s + 1]; c++)
            t->chunk_share[c] = t->share[s] / count[s];
    }
}

gnt_status gnti_cut_targets_make(int64_t num_nodes, const gnti_partition_config *config,
                                 gnti_cut_targets **out)
{
    gnt_status st = GNT_OK;
    gnti_cut_targets *t = NULL;
    int32_t *count = NULL;
    double sum = 1.0;

    GNT_TRY(gnti_calloc_array(&t, 1));
    t->num_chunks = config->num_chunks != 0 ? config->num_chunks : gnti_default_chunks(num_nodes);
    t->num_shares = config->num_shares > 0 ? config->num_shares : 1;
    GNT_CHECK(t->num_chunks >= 1, GNT_ERR_USAGE, "%d chunks asked for: --chunks must be at least 1",
              t->num_chunks);
    GNT_CHECK(t->num_chunks <= gnti_max_i64(num_nodes, 1), GNT_ERR_USAGE,
              "%d chunks asked for, the graph has %lld nodes: use --chunks %lld at most", t->num_chunks,
              (long long)num_nodes, (long long)gnti_max_i64(num_nodes, 1));
    GNT_CHECK(t->num_shares <= t->num_chunks, GNT_ERR_USAGE,
              "%d shares cannot be cut into %d chunks: use --chunks %d at least", t->num_shares,
              t->num_chunks, t->num_shares);
    GNT_CHECK(config->tolerance == 0.0 || config->tolerance > 1.0, GNT_ERR_USAGE,
              "the tolerance of balance is %g: it must be above 1, such as 1.05", config->tolerance);
    GNT_TRY(gnti_alloc_array(&t->chunk_share, t->num_chunks));
    GNT_TRY(gnti_alloc_array(&t->share, t->num_shares));
    GNT_TRY(gnti_alloc_array(&t->share_chunks, (int64_t)t->num_shares + 1));
    GNT_TRY(gnti_alloc_array(&count, t->num_shares));
    if (config->num_shares > 0)
        GNT_TRY(check_shares(config, &sum));
    for (int32_t s = 0; s < t->num_shares; s++)
        t->share[s] = config->num_shares > 0 ? config->shares[s] / sum : 1.0;
    deal_chunks(t, count);
    *out = t;
    t = NULL;
done:
    gnti_free(count);
    gnti_cut_targets_free(&t);
    return st;
}

gnt_status gnti_partition_finish(int64_t num_nodes, const gnti_cut_targets *t, int32_t *chunk_of,
                                 const char *method, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_partition *p = NULL;
    double *shares = NULL;
    int32_t *share_chunks = NULL;

    if (t->num_shares > 1) {
        GNT_TRY(gnti_alloc_array(&shares, t->num_shares));
        GNT_TRY(gnti_alloc_array(&share_chunks, (int64_t)t->num_shares + 1));
        for (int32_t s = 0; s < t->num_shares; s++)
            shares[s] = t->share[s];
        for (int32_t s = 0; s <= t->num_shares; s++)
            share_chunks[s] = t->share_chunks[s];
    }
    GNT_TRY(gnti_partition_from_vector(num_nodes, t->num_chunks, chunk_of, method, &p));
    if (t->num_shares > 1) {
        p->num_shares = t->num_shares;
        p->shares = shares;
        p->share_chunks = share_chunks;
        shares = NULL;
        share_chunks = NULL;
    }
    *out = p;
done:
    gnti_free(shares);
    gnti_free(share_chunks);
    return st;
}
