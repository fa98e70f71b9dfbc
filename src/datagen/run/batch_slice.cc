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

}  // namespace reveza::datagen
