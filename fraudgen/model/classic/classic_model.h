// The classic model: reproduces the marginal distributions of the original data set, including its
// defects (docs/fraud-model.md lists them).
#pragma once

#include <memory>
#include <vector>

#include "fraudgen/model/blocks.h"
#include "fraudgen/model/classic/tables.h"
#include "fraudgen/model/classic/world.h"
#include "fraudgen/model/model.h"

namespace reveza::fraudgen::classic {

class ClassicModel : public Model {
 public:
  // `options` must be valid: at most Options::kMaxCustomers, a start that is not after the end, and
  // what BlockPlan requires.
  static std::unique_ptr<ClassicModel> Make(const Options& options);
  // Not copyable: members refer to `world_`.
  ClassicModel(const ClassicModel&) = delete;
  ClassicModel& operator=(const ClassicModel&) = delete;

  std::span<const Table* const> tables() const override { return tables_; }
  uint64_t blocks() const override { return blocks_; }
  // Known for all tables except devices.
  uint64_t RowsOf(const Table& table, uint64_t block) const override;
  bool IsSmall(const Table& table) const override {
    return &table != &kTransactions && &table != &kRides;
  }
  Status Make(uint64_t block, std::span<const Table* const> wanted, BatchSink& sink) const override;
  bool IsInOrder() const override { return false; }
  // `table` is transactions or rides. Uses 16 bytes for each row of the largest day, or for a few
  // million rows if that is more.
  Status MakeInOrder(const Table& table, BatchSink& sink) const override;

 private:
  struct Part {
    const Table* table;
    BlockPlan plan;                   // later blocks have no rows of it
    std::unique_ptr<TableRows> rows;  // null for devices, which follow from the customers
  };
  struct Timed;

  ClassicModel(const Options& options, uint64_t blocks);

  const Part* Find(const Table& table) const;
  static void FindRows(const Part& part, int64_t begin, int64_t end, std::vector<Timed>& found);
  static Status MakeTable(const Part& part, const Block& block, BatchSink& sink);
  Status MakeDevices(const Block& customers, BatchSink& sink) const;

  uint64_t blocks_;
  World world_;
  Devices devices_;
  std::vector<Part> parts_;
  std::vector<const Table*> tables_;
};

}  // namespace reveza::fraudgen::classic
