// Tables as Arrow's C data interface describes them (https://arrow.apache.org/docs/format/
// CDataInterface.html): structures that every library of Arrow reads, made without one. The layout
// and meaning of the structures are fixed by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fraudgen/output/column_buffers.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

// The reader calls `release` once, and then nothing of the structure is valid.
struct CSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  CSchema** children;
  CSchema* dictionary;
  void (*release)(CSchema*);
  void* private_data;
};

struct CArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  CArray** children;
  CArray* dictionary;
  void (*release)(CArray*);
  void* private_data;
};

struct CStream {
  int (*get_schema)(CStream*, CSchema* to);
  int (*get_next)(CStream*, CArray* to);
  const char* (*get_last_error)(CStream*);
  void (*release)(CStream*);
  void* private_data;
};

// The columns of a table to hand over, and their types.
struct CLayout {
  const Table* table = nullptr;
  std::vector<std::size_t> columns;  // indices in the table, in the order to hand over
  Money money = Money::kFloat;
};

// Fills `to` with the schema, as that of Arrow files with flat columns.
void ExportSchema(const CLayout& layout, CSchema& to);

// Collects rows of batches. Not thread-safe.
class CRows {
 public:
  // `layout` must outlive this object.
  CRows(const CLayout& layout, std::size_t max_rows);

  std::size_t rows() const { return rows_; }
  // Adds `count` rows from `first` on.
  void Append(const Batch& batch, std::size_t first, std::size_t count);
  // Fills `to` with the added rows and starts over. The rows belong to `to` alone.
  void Export(CArray& to);

 private:
  void Begin();

  const CLayout& layout_;
  std::size_t max_rows_;
  std::size_t rows_ = 0;
  std::vector<ColumnBuffers> buffers_;
};

}  // namespace reveza::fraudgen
