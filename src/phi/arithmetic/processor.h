// Which instructions the kernels may use on this processor. Thread-safe.
#pragma once

#include <optional>
#include <string_view>

namespace reveza::phi {

// All give the same bits; they differ in speed.
enum class Instructions { kPlain, kAvx2, kAvx512 };

// The most that this processor has: AVX-512F with DQ and VL, AVX2 with FMA, or nothing of it.
Instructions InstructionsOfProcessor();

// "plain", "avx2", "avx512".
std::string_view NameOf(Instructions instructions);
std::optional<Instructions> InstructionsOf(std::string_view name);

}  // namespace reveza::phi
