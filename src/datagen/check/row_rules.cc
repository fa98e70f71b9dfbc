#include "datagen/check/row_rules.h"

#include <algorithm>
#include <utility>

#include "datagen/value_text.h"

namespace reveza::datagen::check {
namespace {

class RuleCheck final : public TableCheck {
 public:
  explicit RuleCheck(std::vector<RowRule> rules) : rules_(std::move(rules)) {
    for (const RowRule& rule : rules_) {
      tallies_.emplace_back(fmt::format("{}: {}", rule.table, rule.what));
    }
  }

  void Look(const Batch& batch, const Position& position) override {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].table == batch.table().name) Look(rules_[i], batch, position, tallies_[i]);
    }
  }

  // Those of tables that the data set does not have are of no interest.
  void Report(std::vector<Outcome>& outcomes) const override {
    for (const Tally& tally : tallies_) {
      if (tally.looked() != 0) outcomes.push_back(tally.outcome());
    }
  }

 private:
  static void Look(const RowRule& rule, const Batch& batch, const Position& position,
                   Tally& tally) {
    std::vector<Field> fields;
    for (const std::string_view column : rule.columns) fields.emplace_back(batch, column);
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const bool complete = std::ranges::all_of(fields, [&](const Field& field) {
        return field.column().nullable == Nullable::kYes || field.Has(row);
      });
      if (!complete) continue;
      tally.Look();
      if (rule.holds(fields, row)) continue;
      tally.Bad(position, row, [&] {
        std::string text;
        for (const Field& field : fields) {
          text += fmt::format(
              "{}{} is {}", text.empty() ? "" : ", ", field.column().name,
              field.Has(row) ? "'" + ValueText(batch, field.index(), row) + "'" : "null");
        }
        return text;
      });
    }
  }

  std::vector<RowRule> rules_;
  std::vector<Tally> tallies_;
};

}  // namespace

std::unique_ptr<TableCheck> CheckRules(std::vector<RowRule> rules) {
  return std::make_unique<RuleCheck>(std::move(rules));
}

uint64_t NumberOf(std::string_view identifier) {
  uint64_t number = 0;
  for (const char c : identifier) {
    if (c >= '0' && c <= '9') number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

}  // namespace reveza::datagen::check
