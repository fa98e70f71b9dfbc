// The classic model: the distributions of the original data set, field by field, its defects
// included (docs/fraud-model.md names them).
#pragma once

#include <memory>
#include <vector>

#include "datagen/blocks.h"
#include "datagen/classic/customers.h"
#include "datagen/classic/devices.h"
#include "datagen/classic/drivers.h"
#include "datagen/classic/fraud_marks.h"
#include "datagen/classic/options.h"
#include "datagen/classic/rides.h"
#include "datagen/classic/transactions.h"
#include "datagen/classic/world.h"
#include "datagen/model.h"

namespace reveza::datagen::classic {

class ClassicModel : public Model {
 public:
  // An error says which option is wrong and what would be right.
  static Result<std::unique_ptr<ClassicModel>> Make(const Options& options);
  // Its tables point at its world.
  ClassicModel(const ClassicModel&) = delete;
  ClassicModel& operator=(const ClassicModel&) = delete;

  std::span<const Table* const> tables() const override { return tables_; }
  uint64_t blocks() const override { return blocks_; }
  // Known of all tables but the devices.
  uint64_t RowsOf(const Table& table, uint64_t block) const override;
  Status Make(uint64_t block, std::span<const Table* const> wanted, BatchSink& sink) const override;
  bool IsInOrder() const override { return false; }
  // Of transactions or rides. Takes 16 bytes for each row of a day, or for a few million rows.
  Status MakeInOrder(const Table& table, BatchSink& sink) const override;

 private:
  // How the rows of each table are divided; blocks after a plan's last have no rows of its table.
  struct Plans {
    BlockPlan customers;
    BlockPlan transactions;
    BlockPlan drivers;
    BlockPlan rides;
  };

  ClassicModel(const Options& options, const Plans& plans, uint64_t blocks);

  static Result<Plans> MakePlans(const Options& options, uint64_t& blocks);
  const BlockPlan& PlanOf(const Table& table) const;
  struct Timed;
  void FindRows(const Table& table, int64_t begin, int64_t end, std::vector<Timed>& found) const;
  FraudMarks MarksOf(const Table& table, const Block& block) const;
  void DrawTimes(const Table& table, uint64_t first, std::span<int64_t> times) const;
  void Fill(const Table& table, const BatchRows& rows, Batch& batch) const;
  Status MakeTable(const Table& table, const Block& block, BatchSink& sink) const;
  Status MakeDevices(const Block& customers, BatchSink& sink) const;

  Plans plans_;
  uint64_t blocks_;
  std::vector<const Table*> tables_;
  World world_;
  Customers customers_;
  Devices devices_;
  Transactions transactions_;
  Drivers drivers_;
  Rides rides_;
};

}  // namespace reveza::datagen::classic
