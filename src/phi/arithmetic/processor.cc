#include "phi/arithmetic/processor.h"

#include <array>

namespace reveza::phi {
namespace {

constexpr std::array kAll = {Instructions::kPlain, Instructions::kAvx2, Instructions::kAvx512};

}  // namespace

Instructions InstructionsOfProcessor() {
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
  switch (instructions) {
    case Instructions::kPlain:
      return "plain";
    case Instructions::kAvx2:
      return "avx2";
    case Instructions::kAvx512:
      return "avx512";
  }
  return "plain";
}

std::optional<Instructions> InstructionsOf(std::string_view name) {
  for (const Instructions instructions : kAll) {
    if (NameOf(instructions) == name) return instructions;
  }
  return std::nullopt;
}

}  // namespace reveza::phi
