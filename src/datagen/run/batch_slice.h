// Part of a batch, where a file ends in the middle of one. Safe from any thread that owns `to`.
#pragma once

#include <cstddef>

#include "datagen/batch.h"

namespace reveza::datagen {

// Makes `to`, a batch of the same table, the `count` rows of `from` that begin at `first`.
void CopyRows(const Batch& from, std::size_t first, std::size_t count, Batch& to);

}  // namespace reveza::datagen
