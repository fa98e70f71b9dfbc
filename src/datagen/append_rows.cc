#include "datagen/append_rows.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <vector>

namespace reveza::datagen {
namespace {

template <typename T>
void CopyPart(const std::vector<T>& from, std::size_t first, std::size_t count, std::vector<T>& to,
              std::size_t at) {
  // The other vectors of a column are not in use, and empty.
  if (from.empty() || to.empty()) return;
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(first), count,
              to.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace

void AppendRows(const Batch& from, std::size_t first, std::size_t count, Batch& to,
                std::size_t at) {
  assert(first + count <= from.rows() && at + count <= to.rows());
  if (count == 0) return;
  for (std::size_t i = 0; i < from.table().columns.size(); ++i) {
    const ColumnValues& source = from.column(i);
    ColumnValues& copy = to.column(i);
    CopyPart(source.present, first, count, copy.present, at);
    CopyPart(source.numbers, first, count, copy.numbers, at);
    CopyPart(source.codes, first, count, copy.codes, at);
    CopyPart(source.flags, first, count, copy.flags, at);
    if (from.table().columns[i].type != ColumnType::kText) continue;
    assert(copy.ends.size() == at);
    const int32_t begin = first == 0 ? 0 : source.ends[first - 1];
    const int32_t moved = static_cast<int32_t>(copy.bytes.size()) - begin;
    copy.bytes.append(source.bytes, static_cast<std::size_t>(begin),
                      static_cast<std::size_t>(source.ends[first + count - 1] - begin));
    for (std::size_t row = first; row < first + count; ++row) {
      copy.ends.push_back(source.ends[row] + moved);
    }
  }
}

}  // namespace reveza::datagen
