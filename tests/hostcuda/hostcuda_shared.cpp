/* SPDX-License-Identifier: Apache-2.0 */
/* Rubbish in __shared__ memory at the start of each block, so that what nobody has started shows: NaN, or -1.
 *
 * `__shared__` variables are thread-local statics of functions, which the language does not list; the symbol table of the
 * program does. A kernel's are those with its name in theirs, those of its source file (helpers have some too), and global ones.
 * A program without a symbol table has zeros there in the first block, and in others what the block before left.
 */
#include "tests/hostcuda/hostcuda_block.h"

#include <cstdio>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <map>

extern "C" void *__tls_get_addr(void *);

namespace hostcuda
{

struct tls_index {
    size_t module, offset;
};
struct symbol {
    std::string name;
    size_t value, bytes;
    int file; /* number of the source file, -1: global */
};
struct module_symbols {
    uintptr_t base = 0;
    size_t tls = 0;
    std::vector<symbol> functions, shared;
};
struct shared_range {
    tls_index at;
    size_t bytes;
};

static bool read_at(FILE *f, size_t offset, void *out, size_t bytes)
{
    return fseek(f, (long)offset, SEEK_SET) == 0 && (bytes == 0 || fread(out, bytes, 1, f) == 1);
}

/* A static variable of a function, and not one of this library. */
static bool is_shared_name(const std::string &name)
{
    return name.rfind("_ZZ", 0) == 0 && name.rfind("_ZZN8hostcuda", 0) != 0;
}

static void sort_symbols(const std::vector<ElfW(Sym)> &table, const std::vector<char> &names,
                         module_symbols *out)
{
    int file = -1;
    for (const ElfW(Sym) & s : table) {
        const int type = ELF64_ST_TYPE(s.st_info);
        if (type == STT_FILE)
            file++;
        if ((type != STT_FUNC && type != STT_TLS) || s.st_shndx == SHN_UNDEF || s.st_name >= names.size())
            continue;
        const bool local = ELF64_ST_BIND(s.st_info) == STB_LOCAL;
        symbol one = { &names[s.st_name], (size_t)s.st_value, (size_t)s.st_size, local ? file : -1 };
        if (type == STT_FUNC)
            out->functions.push_back(one);
        else if (is_shared_name(one.name))
            out->shared.push_back(one);
    }
}

static void read_symbols(const char *path, module_symbols *out)
{
    FILE *f = fopen(path[0] != '\0' ? path : "/proc/self/exe", "rb");
    if (f == nullptr)
        return;
    ElfW(Ehdr) head;
    std::vector<ElfW(Shdr)> sections;
    if (read_at(f, 0, &head, sizeof head) && head.e_shentsize == sizeof(ElfW(Shdr))) {
        sections.resize(head.e_shnum);
        if (!read_at(f, head.e_shoff, sections.data(), sections.size() * sizeof sections[0]))
            sections.clear();
    }
    for (const ElfW(Shdr) & s : sections) {
        if (s.sh_type != SHT_SYMTAB || s.sh_link >= sections.size())
            continue;
        std::vector<ElfW(Sym)> table(s.sh_size / sizeof(ElfW(Sym)));
        std::vector<char> names(sections[s.sh_link].sh_size + 1);
        if (read_at(f, s.sh_offset, table.data(), table.size() * sizeof table[0]) &&
            read_at(f, sections[s.sh_link].sh_offset, names.data(), names.size() - 1))
            sort_symbols(table, names, out);
    }
    fclose(f);
}

struct module_search {
    uintptr_t address;
    std::string path;
    module_symbols found;
};

static int look_at_module(struct dl_phdr_info *info, size_t, void *user)
{
    module_search *search = (module_search *)user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &p = info->dlpi_phdr[i];
        if (p.p_type == PT_LOAD && search->address - info->dlpi_addr - p.p_vaddr < p.p_memsz) {
            search->path = info->dlpi_name;
            search->found.base = info->dlpi_addr;
            search->found.tls = info->dlpi_tls_modid;
            return 1;
        }
    }
    return 0;
}

static std::vector<shared_range> find_ranges(const void *kernel)
{
    static std::map<std::string, module_symbols> modules;
    module_search search = { (uintptr_t)kernel, "", {} };
    if (dl_iterate_phdr(look_at_module, &search) == 0)
        return {};
    if (modules.count(search.path) == 0) {
        read_symbols(search.path.c_str(), &search.found);
        modules[search.path] = search.found;
    }
    const module_symbols &m = modules[search.path];
    const symbol *function = nullptr;
    for (const symbol &s : m.functions)
        if (s.value == (uintptr_t)kernel - m.base)
            function = &s;
    std::vector<shared_range> ranges;
    for (const symbol &s : m.shared)
        if (s.file < 0 || function == nullptr || s.file == function->file ||
            s.name.rfind("_Z" + function->name, 0) == 0)
            ranges.push_back({ { m.tls, s.value }, s.bytes });
    return ranges;
}

void fill_shared(const void *kernel)
{
    static std::mutex lock;
    static std::map<const void *, std::vector<shared_range>> known;
    const std::vector<shared_range> *ranges;
    {
        std::lock_guard<std::mutex> hold(lock);
        if (known.count(kernel) == 0)
            known[kernel] = find_ranges(kernel);
        ranges = &known[kernel];
    }
    for (const shared_range &r : *ranges) {
        tls_index at = r.at;
        memset(__tls_get_addr(&at), 0xff, r.bytes);
    }
}

} // namespace hostcuda
