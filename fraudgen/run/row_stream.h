// The rows of one table in one shard as a stream of Arrow's C data interface, in the order in which
// the program writes them. A thread makes rows ahead of the reader, in bounded memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/model/model.h"
#include "fraudgen/output/c_data.h"
#include "fraudgen/run/prepare.h"
#include "fraudgen/run/shard.h"

namespace reveza::fraudgen {

// Rows per batch, as in Arrow files.
inline constexpr std::size_t kStreamBatchRows = 65'536;

// Returns the indices of columns by their flat names, in this order; without names, all.
// kInvalidArgument: an unknown name, or one that is listed twice.
Result<std::vector<std::size_t>> FindColumns(const Table& table,
                                             const std::vector<std::string>& names);

// Makes `to` a stream of these columns of a table of `prepared.model`, of the shard's blocks. Its
// `get_next` returns errno values; releasing it stops the thread.
void OpenStream(PreparedModel prepared, Shard shard, const Table& table,
                std::vector<std::size_t> columns, CStream& to);

}  // namespace reveza::fraudgen
