// Measures the time of a kernel launch in the calling thread, through the resolved call (with
// libreveza.so: through the gate) and through the function that the driver exports. The exported
// function is measured twice in each round, so that the difference of the same function to itself
// shows what the measurement can resolve. Batches of all three alternate in every order, so that
// noise affects all. They are small enough never to fill the driver's queue, and waiting for the
// GPU is not measured. Prints medians of the differences with intervals of 95 % confidence.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::bench {
namespace {

using clients::Options;
using clients::SecondsNow;
using clients::Session;

// The dynamic section of a loaded library. The loader has relocated its pointers.
struct Dynamic {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
};

Dynamic ReadDynamic(const link_map& library) {
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

// Computes the number of symbols, which ELF does not store: the last chain of the hash table ends
// with the last symbol.
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

// Returns the address of `name` in `library`, or nullptr if the library is not loaded or does not
// export it. Bypasses a preloaded library that wraps dlsym.
void* DriverSymbol(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  link_map* map = nullptr;
  const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0;
  dlclose(handle);  // the program's own reference keeps it loaded
  if (!known) return nullptr;
  const Dynamic dynamic = ReadDynamic(*map);
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

// The median of values, and the interval that contains the true one with 95 % confidence: the
// values whose ranks are 0.98 sqrt(n) from the middle.
struct Estimate {
  double median, low, high;
};

Estimate EstimateOf(std::vector<double> values) {
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  const auto at = [&](double rank) {
    return values[static_cast<std::size_t>(std::clamp(rank, 0.0, count - 1))];
  };
  const double spread = 0.98 * std::sqrt(count);
  return {at(count / 2), at(count / 2 - spread), at(count / 2 + spread)};
}

double BatchNanoseconds(const Session& session, std::uint64_t launches) {
  const double begin = SecondsNow();
  for (std::uint64_t launch = 0; launch < launches; ++launch) session.Spin(0);
  const double end = SecondsNow();
  session.Synchronize();
  return (end - begin) * 1e9 / static_cast<double>(launches);
}

constexpr std::uint64_t kWarmUp = 12;

int Main(const Options& options) {
  const Session session(options);
  clients::Driver bare_driver = session.driver();
  void* bare = DriverSymbol("libcuda.so.1", "cuLaunchKernel");
  if (bare == nullptr) clients::Die("libcuda.so.1 exports no cuLaunchKernel");
  bare_driver.cuLaunchKernel = reinterpret_cast<decltype(bare_driver.cuLaunchKernel)>(bare);
  const Session first(bare_driver, session.device(), session.context());
  const Session second(bare_driver, session.device(), session.context());
  const std::array<const Session*, 3> ways = {&session, &first, &second};
  const std::uint64_t batch = options.Extra("batch");
  std::vector<double> resolved;
  std::vector<double> added;
  std::vector<double> itself;
  std::array<std::size_t, 3> order = {0, 1, 2};
  for (std::uint64_t i = 0; i < options.steps + kWarmUp; ++i) {
    std::array<double, 3> took{};
    for (const std::size_t way : order) took[way] = BatchNanoseconds(*ways[way], batch);
    std::ranges::next_permutation(order);
    if (i < kWarmUp) continue;
    resolved.push_back(took[0]);
    // Of both measurements of the exported function, so that neither is closer to the resolved one.
    added.push_back(took[0] - (took[1] + took[2]) / 2);
    itself.push_back(took[1] - took[2]);
  }
  const Estimate difference = EstimateOf(added);
  const Estimate noise = EstimateOf(itself);
  std::printf(
      "{\"name\":\"%s\",\"batches\":%zu,\"batch\":%llu,\"median_ns\":%.1f,\"added_ns\":%.2f,"
      "\"added_low_ns\":%.2f,\"added_high_ns\":%.2f,\"itself_ns\":%.2f,\"itself_low_ns\":%.2f,"
      "\"itself_high_ns\":%.2f,\"gated\":%s}\n",
      options.name.c_str(), resolved.size(), static_cast<unsigned long long>(batch),
      EstimateOf(resolved).median, difference.median, difference.low, difference.high, noise.median,
      noise.low, noise.high,
      reinterpret_cast<void*>(session.driver().cuLaunchKernel) == bare ? "false" : "true");
  return 0;
}

}  // namespace
}  // namespace reveza::bench

int main(int argc, char** argv) {
  const auto options = reveza::clients::OptionsOrExit(argc, argv, "launch_cost", {{"batch", 200}});
  if (options.Extra("batch") == 0 || options.steps == 0) {
    reveza::clients::Die("--batch and --steps must be 1 or more");
  }
  return reveza::bench::Main(options);
}
