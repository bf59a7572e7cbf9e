/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by libcrypto's EVP, which uses the processor's instructions for it. */
#include "base/sha256.h"

#include "base/alloc.h"

#include <openssl/evp.h>

struct gnti_sha256 {
    EVP_MD_CTX *context;
};

gnt_status gnti_sha256_create(gnti_sha256 **out)
{
    gnt_status st = GNT_OK;
    gnti_sha256 *h = NULL;

    GNT_TRY(gnti_calloc_array(&h, 1));
    h->context = EVP_MD_CTX_new();
    GNT_CHECK(h->context != NULL, GNT_ERR_NOMEM, "no memory for a checksum");
    GNT_CHECK(EVP_DigestInit_ex(h->context, EVP_sha256(), NULL) == 1, GNT_ERR_UNSUPPORTED,
              "libcrypto refuses SHA-256: see its configuration (openssl.cnf)");
    *out = h;
    h = NULL;
done:
    gnti_sha256_free(&h);
    return st;
}

gnt_status gnti_sha256_update(gnti_sha256 *hash, const void *bytes, size_t count)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(EVP_DigestUpdate(hash->context, bytes, count) == 1, GNT_ERR_STATE,
              "checksum is finished already");
done:
    return st;
}

gnt_status gnti_sha256_finish(gnti_sha256 *hash, char out_hex[GNTI_SHA256_HEX_BYTES])
{
    gnt_status st = GNT_OK;
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned length = 0;

    GNT_CHECK(EVP_DigestFinal_ex(hash->context, sum, &length) == 1 && length == 32, GNT_ERR_STATE,
              "checksum is finished already");
    for (unsigned i = 0; i < length; i++) {
        out_hex[2 * i] = "0123456789abcdef"[sum[i] >> 4];
        out_hex[2 * i + 1] = "0123456789abcdef"[sum[i] & 15];
    }
    out_hex[64] = '\0';
done:
    return st;
}

void gnti_sha256_free(gnti_sha256 **hash)
{
    if (*hash == NULL)
        return;
    EVP_MD_CTX_free((*hash)->context);
    gnti_free(*hash);
    *hash = NULL;
}

gnt_status gnti_sha256_of(const void *bytes, size_t count, char out_hex[GNTI_SHA256_HEX_BYTES])
{
    gnt_status st = GNT_OK;
    gnti_sha256 *h = NULL;

    GNT_TRY(gnti_sha256_create(&h));
    GNT_TRY(gnti_sha256_update(h, bytes, count));
    GNT_TRY(gnti_sha256_finish(h, out_hex));
done:
    gnti_sha256_free(&h);
    return st;
}
