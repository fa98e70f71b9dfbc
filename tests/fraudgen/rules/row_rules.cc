#include <string>
#include <utility>

#include "fraudgen/schema/batch.h"
#include "tests/fraudgen/rules/table_check.h"

namespace reveza::fraudgen::rules {
namespace {

class RuleCheck final : public TableCheck {
 public:
  explicit RuleCheck(std::vector<TableRules> rules) : rules_(std::move(rules)) {
    for (const auto& [table, of_table] : rules_) {
      for (const RowRule& rule : of_table) {
        tallies_.emplace_back(fmt::format("{}: {}", table, rule.what));
      }
    }
  }

  void Add(const Batch& batch, const Position& position) override {
    std::size_t next = 0;
    for (const auto& [table, of_table] : rules_) {
      for (const RowRule& rule : of_table) {
        Tally& tally = tallies_[next++];
        if (table == batch.table().name) Check(rule, batch, position, tally);
      }
    }
  }

  // Omits tables that the data set does not have.
  void Report(Tallies& tallies) const override {
    for (const Tally& tally : tallies_) {
      if (tally.checked() != 0) tallies.push_back(tally);
    }
  }

 private:
  static void Check(const RowRule& rule, const Batch& batch, const Position& position,
                    Tally& tally) {
    const auto fields = FieldsOf(batch, rule.columns);
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!IsComplete(fields, row)) continue;
      tally.Check(rule.holds(fields, row), position, row, [&] {
        std::string text;
        for (const Field& field : fields) {
          text += fmt::format(
              "{}{} is {}", text.empty() ? "" : ", ", field.column().name,
              field.Has(row) ? fmt::format("'{}'", ValueText(batch, field.index(), row)) : "null");
        }
        return text;
      });
    }
  }

  std::vector<TableRules> rules_;
  std::vector<Tally> tallies_;
};

}  // namespace

std::unique_ptr<TableCheck> CheckRules(std::vector<TableRules> rules) {
  return std::make_unique<RuleCheck>(std::move(rules));
}

}  // namespace reveza::fraudgen::rules
