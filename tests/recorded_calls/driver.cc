#include "tests/recorded_calls/driver.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

namespace reveza::recorded_calls {
namespace {

constexpr std::size_t kMaxWords = 16;
void* library = nullptr;

template <std::size_t>
using WordOf = std::uint64_t;

// The calling conventions of x86-64 and aarch64 pass each parameter of the driver, none of which is
// a floating-point number or exceeds a word here, as one word; a callee ignores those in excess.
template <std::size_t... I>
CUresult CallWords(void* function, const std::array<std::uint64_t, kMaxWords>& words,
                   std::index_sequence<I...>) {
  return reinterpret_cast<CUresult (*)(WordOf<I>...)>(function)(words[I]...);
}

}  // namespace

bool LoadDriver() {
  library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (library == nullptr) std::fprintf(stderr, "play_calls: no CUDA driver: %s\n", dlerror());
  return library != nullptr;
}

CUresult CallEntry(const std::string& entry, std::span<const std::uint64_t> words) {
  static std::mutex mutex;
  static auto* const functions = new std::map<std::string, void*>;
  void* function = nullptr;
  {
    const std::lock_guard lock(mutex);
    const auto [found, added] = functions->try_emplace(entry, nullptr);
    if (added) found->second = dlsym(library, entry.c_str());
    function = found->second;
  }
  if (function == nullptr || words.size() > kMaxWords) return CUDA_ERROR_NOT_FOUND;
  std::array<std::uint64_t, kMaxWords> all{};
  std::copy(words.begin(), words.end(), all.begin());
  return CallWords(function, all, std::make_index_sequence<kMaxWords>());
}

}  // namespace reveza::recorded_calls
