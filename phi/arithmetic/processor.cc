#include "phi/arithmetic/processor.h"

#include <algorithm>
#include <array>

namespace reveza::phi {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"plain", "avx2", "avx512"};

}  // namespace

Instructions SupportedInstructions() {
#if defined(__x86_64__)
  const bool narrow = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool wide = __builtin_cpu_supports("avx512f") != 0 &&
                    __builtin_cpu_supports("avx512dq") != 0 &&
                    __builtin_cpu_supports("avx512vl") != 0;
  if (narrow && wide) return Instructions::kAvx512;
  if (narrow) return Instructions::kAvx2;
#endif
  return Instructions::kPlain;
}

std::string_view NameOf(Instructions instructions) {
  return kNames[static_cast<std::size_t>(instructions)];
}

std::optional<Instructions> ParseInstructions(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Instructions>(found - kNames.begin());
}

}  // namespace reveza::phi
