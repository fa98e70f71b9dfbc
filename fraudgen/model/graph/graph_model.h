// Wraps the coherent model and adds a graph of each block: owned accounts, used devices and
// payments. Immutable and thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "fraudgen/model/model.h"
#include "fraudgen/schema/schema_derived.h"

namespace reveza::fraudgen {

class GraphModel final : public Model {
 public:
  // `rows` must have the tables of the coherent model.
  explicit GraphModel(std::unique_ptr<Model> rows);

  std::span<const Table* const> tables() const override { return tables_; }
  uint64_t blocks() const override { return rows_->blocks(); }
  uint64_t RowsOf(const Table& table, uint64_t block) const override;
  Status Make(uint64_t block, std::span<const Table* const> wanted, BatchSink& sink) const override;
  bool IsSmall(const Table& table) const override;
  bool IsInOrder() const override { return rows_->IsInOrder(); }

 private:
  std::unique_ptr<Model> rows_;
  std::vector<const Table*> tables_;
};

}  // namespace reveza::fraudgen
