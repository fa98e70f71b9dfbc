#include "datagen/run/batch_slice.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace reveza::datagen {
namespace {

template <typename T>
void CopyPart(const std::vector<T>& from, std::size_t first, std::vector<T>& to) {
  // The other vectors of a column are not in use, and empty.
  if (from.empty()) return;
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(first), to.size(), to.begin());
}

template <typename T>
void CopyThese(const std::vector<T>& from, std::span<const std::size_t> rows, std::vector<T>& to) {
  if (from.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) to[i] = from[rows[i]];
}

}  // namespace

void CopyRows(const Batch& from, std::size_t first, std::size_t count, Batch& to) {
  assert(&from.table() == &to.table() && first + count <= from.rows());
  to.Begin(count);
  for (std::size_t i = 0; i < from.table().columns.size(); ++i) {
    const ColumnValues& source = from.column(i);
    ColumnValues& copy = to.column(i);
    CopyPart(source.present, first, copy.present);
    CopyPart(source.numbers, first, copy.numbers);
    CopyPart(source.codes, first, copy.codes);
    CopyPart(source.flags, first, copy.flags);
    if (from.table().columns[i].type != ColumnType::kText) continue;
    for (std::size_t row = first; row < first + count; ++row) copy.AppendText(source.TextAt(row));
  }
}

void CopyRows(const Batch& from, std::span<const std::size_t> rows,
              std::span<const std::size_t> sources, Batch& to) {
  assert(sources.size() == to.table().columns.size());
  to.Begin(rows.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const ColumnValues& source = from.column(sources[i]);
    ColumnValues& copy = to.column(i);
    CopyThese(source.present, rows, copy.present);
    CopyThese(source.numbers, rows, copy.numbers);
    CopyThese(source.codes, rows, copy.codes);
    CopyThese(source.flags, rows, copy.flags);
    if (to.table().columns[i].type != ColumnType::kText) continue;
    for (const std::size_t row : rows) copy.AppendText(source.TextAt(row));
  }
}

}  // namespace reveza::datagen
