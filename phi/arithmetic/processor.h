// The instruction sets that kernels may use on this processor. Thread-safe.
#pragma once

#include <optional>
#include <string_view>

namespace reveza::phi {

// In ascending order of speed; all produce the same bits.
enum class Instructions { kPlain, kAvx2, kAvx512 };

// Returns the best set that this processor supports: AVX-512 (F, DQ and VL), AVX2 (with FMA) or
// plain.
Instructions SupportedInstructions();

// Returns "plain", "avx2" or "avx512".
std::string_view NameOf(Instructions instructions);
// Returns the set with that name; nothing if the name is unknown.
std::optional<Instructions> ParseInstructions(std::string_view name);

}  // namespace reveza::phi
