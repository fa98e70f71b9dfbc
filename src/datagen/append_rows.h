// Puts rows of one batch behind those of another: for who sends rows on in another order or
// grouping than they came in. Safe from any thread that owns `to`.
#pragma once

#include <cstddef>

#include "datagen/batch.h"

namespace reveza::datagen {

// Copies the `count` rows of `from` that begin at `first` to `at` in `to`, which has begun with
// room for them and has texts for `at` rows. Its table has the same columns; where only the one of
// `to` may be null, the values are there.
void AppendRows(const Batch& from, std::size_t first, std::size_t count, Batch& to, std::size_t at);

}  // namespace reveza::datagen
