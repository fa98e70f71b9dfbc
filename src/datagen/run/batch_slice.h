// Part of a batch, where a file ends in the middle of one or its rows belong to several files. Safe
// from any thread that owns `to`.
#pragma once

#include <cstddef>
#include <span>

#include "datagen/batch.h"

namespace reveza::datagen {

// Makes `to`, a batch of the same table, the `count` rows of `from` that begin at `first`.
void CopyRows(const Batch& from, std::size_t first, std::size_t count, Batch& to);

// Makes `to` these rows of `from`, in this order. Its i-th column is the `sources[i]`-th of `from`.
void CopyRows(const Batch& from, std::span<const std::size_t> rows,
              std::span<const std::size_t> sources, Batch& to);

}  // namespace reveza::datagen
