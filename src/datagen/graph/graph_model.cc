#include "datagen/graph/graph_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "datagen/graph/graph_builder.h"

namespace reveza::datagen {
namespace {

bool IsIn(std::span<const Table* const> tables, const Table* table) {
  return std::ranges::find(tables, table) != tables.end();
}

// Hands on what is wanted, and lets the builder see what it needs.
class GraphSink final : public BatchSink {
 public:
  GraphSink(std::span<const Table* const> wanted, GraphBuilder& builder, BatchSink& sink)
      : wanted_(wanted), builder_(builder), sink_(sink) {}

  Status Put(const Batch& batch) override {
    const std::string_view name = batch.table().name;
    Status seen;
    if (name == "devices") seen = builder_.AddDevices(batch);
    if (name == "transactions") seen = builder_.AddTransactions(batch);
    if (name == "rings") builder_.AddRings(batch);
    if (!seen || !IsIn(wanted_, &batch.table())) return seen;
    return sink_.Put(batch);
  }

 private:
  std::span<const Table* const> wanted_;
  GraphBuilder& builder_;
  BatchSink& sink_;
};

class AccountSink final : public BatchSink {
 public:
  explicit AccountSink(GraphBuilder& builder) : builder_(builder) {}
  Status Put(const Batch& batch) override { return builder_.AddAccounts(batch); }

 private:
  GraphBuilder& builder_;
};

}  // namespace

GraphModel::GraphModel(std::unique_ptr<Model> rows)
    : rows_(std::move(rows)), tables_(rows_->tables().begin(), rows_->tables().end()) {
  tables_.insert(tables_.end(), GraphTables().begin(), GraphTables().end());
}

uint64_t GraphModel::RowsOf(const Table& table, uint64_t block) const {
  return IsIn(GraphTables(), &table) ? 0 : rows_->RowsOf(table, block);
}

Status GraphModel::Make(uint64_t block, std::span<const Table* const> wanted,
                        BatchSink& sink) const {
  constexpr std::array<std::string_view, 3> kNeeded = {"devices", "transactions", "rings"};
  const bool nodes = IsIn(wanted, &kNodes);
  const bool edges = IsIn(wanted, &kEdges);
  if (!nodes && !edges) return rows_->Make(block, wanted, sink);
  GraphBuilder builder(nodes ? &sink : nullptr, edges ? &sink : nullptr);
  // Whose account is whose has to be known at the first payment; it takes no simulation.
  std::vector<const Table*> now;
  for (const Table* table : rows_->tables()) {
    if (table->name == "accounts") now.push_back(table);
  }
  AccountSink accounts(builder);
  if (auto made = rows_->Make(block, now, accounts); !made) return made;
  now.clear();
  for (const Table* table : rows_->tables()) {
    if (IsIn(wanted, table) || std::ranges::find(kNeeded, table->name) != kNeeded.end())
      now.push_back(table);
  }
  GraphSink between(wanted, builder, sink);
  if (auto made = rows_->Make(block, now, between); !made) return made;
  return builder.End();
}

}  // namespace reveza::datagen
