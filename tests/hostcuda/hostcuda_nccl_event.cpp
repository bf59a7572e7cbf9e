/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for NCCL: an event as bytes, which only processes of one build exchange: fields one behind the other, vectors with
 * their length in front. Addresses stay behind. */
#include "tests/hostcuda/hostcuda_nccl.h"

namespace hostcuda
{
namespace nccl
{

namespace
{

template <class T> void put(std::string *to, T value)
{
    to->append(reinterpret_cast<const char *>(&value), sizeof value);
}

void put_bytes(std::string *to, const char *bytes, size_t length)
{
    put(to, length);
    to->append(bytes, length);
}

// What is left to read.
struct reader {
    const char *at, *end;
};

const char *take(reader *r, size_t length)
{
    if (static_cast<size_t>(r->end - r->at) < length)
        broken("an event of another process ends early: is it of the same build?");
    r->at += length;
    return r->at - length;
}

template <class T> T get(reader *r)
{
    T value;

    std::memcpy(&value, take(r, sizeof value), sizeof value);
    return value;
}

} // namespace

std::string to_bytes(const event &e)
{
    std::string bytes;

    put(&bytes, e.what);
    put(&bytes, e.rank);
    put(&bytes, e.first);
    put(&bytes, e.second);
    put(&bytes, e.index);
    put_bytes(&bytes, e.name.data(), e.name.size());
    put(&bytes, e.halves.size());
    for (const std::shared_ptr<half> &h : e.halves) {
        put(&bytes, h->op.what);
        put(&bytes, h->op.count);
        put(&bytes, h->op.type);
        put(&bytes, h->op.reduction);
        put(&bytes, h->op.peer);
        put_bytes(&bytes, h->content.data(), h->content.size());
    }
    return bytes;
}

event from_bytes(const std::string &bytes)
{
    reader r = { bytes.data(), bytes.data() + bytes.size() };
    event e = {};

    e.what = get<event_kind>(&r);
    e.rank = get<int>(&r);
    e.first = get<int>(&r);
    e.second = get<int>(&r);
    e.index = get<uint64_t>(&r);
    const size_t length = get<size_t>(&r);
    e.name.assign(take(&r, length), length);
    for (size_t left = get<size_t>(&r); left > 0; left--) {
        const std::shared_ptr<half> h = std::make_shared<half>();
        h->op.what = get<kind>(&r);
        h->op.count = get<size_t>(&r);
        h->op.type = get<ncclDataType_t>(&r);
        h->op.reduction = get<ncclRedOp_t>(&r);
        h->op.peer = get<int>(&r);
        const size_t content = get<size_t>(&r);
        const char *from = take(&r, content);
        h->content.assign(from, from + content);
        e.halves.push_back(h);
    }
    return e;
}

} // namespace nccl
} // namespace hostcuda
