// How wide the vectors are that loops over 64-bit integers may use on this processor. Thread-safe.
#pragma once

namespace reveza::datagen {

// How many 64-bit numbers at once, with products of them.
enum class Vectors { kNarrow = 1, kFour = 4, kEight = 8 };

// Asked of the C library where that can say: what GLIBC_TUNABLES hides from it, it hides from us.
Vectors VectorsOfProcessor();

}  // namespace reveza::datagen
