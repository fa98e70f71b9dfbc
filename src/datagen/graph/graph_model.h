// The coherent model's rows, and of each block its graph: who owns, uses and pays what. Immutable,
// so safe from any thread.
#pragma once

#include <memory>
#include <vector>

#include "datagen/model.h"
#include "datagen/schema_graph.h"

namespace reveza::datagen {

class GraphModel final : public Model {
 public:
  // `rows`: a model with the tables of the coherent one.
  explicit GraphModel(std::unique_ptr<Model> rows);

  std::span<const Table* const> tables() const override { return tables_; }
  uint64_t blocks() const override { return rows_->blocks(); }
  uint64_t RowsOf(const Table& table, uint64_t block) const override;
  Status Make(uint64_t block, std::span<const Table* const> wanted, BatchSink& sink) const override;
  bool IsInOrder() const override { return rows_->IsInOrder(); }

 private:
  std::unique_ptr<Model> rows_;
  std::vector<const Table*> tables_;
};

}  // namespace reveza::datagen
