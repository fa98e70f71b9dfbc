#include "driver_symbol.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace reveza::bench {
namespace {

// The dynamic section of a library; the loader has made its pointers absolute.
struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
};

Dynamic Read(const link_map& library) {
  Dynamic dynamic;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto pointer = static_cast<std::uintptr_t>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) dynamic.symbols = reinterpret_cast<const ElfW(Sym)*>(pointer);
    if (entry->d_tag == DT_STRTAB) dynamic.names = reinterpret_cast<const char*>(pointer);
    if (entry->d_tag == DT_GNU_HASH) {
      dynamic.gnu_hash = reinterpret_cast<const std::uint32_t*>(pointer);
    }
  }
  return dynamic;
}

// How many symbols there are is said nowhere; the last chain of the hash table ends with the last.
std::uint32_t SymbolCount(const std::uint32_t* hash) {
  const std::uint32_t buckets = hash[0];
  const std::uint32_t first = hash[1];
  const std::uint32_t bloom_words = hash[2];
  const std::uint32_t* bucket = hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t last = *std::max_element(bucket, bucket + buckets);
  if (last < first) return first;
  while ((chain[last - first] & 1u) == 0) ++last;
  return last + 1;
}

}  // namespace

void* DriverSymbol(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  link_map* map = nullptr;
  const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0;
  dlclose(handle);  // it stays loaded: somebody else holds it
  if (!known) return nullptr;
  const Dynamic dynamic = Read(*map);
  if (dynamic.symbols == nullptr || dynamic.names == nullptr || dynamic.gnu_hash == nullptr) {
    return nullptr;
  }
  const std::uint32_t count = SymbolCount(dynamic.gnu_hash);
  for (std::uint32_t i = 0; i < count; ++i) {
    const ElfW(Sym)& symbol = dynamic.symbols[i];
    if (symbol.st_shndx != SHN_UNDEF && std::strcmp(dynamic.names + symbol.st_name, name) == 0) {
      return reinterpret_cast<void*>(map->l_addr + symbol.st_value);
    }
  }
  return nullptr;
}

}  // namespace reveza::bench
