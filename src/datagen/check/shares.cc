#include "datagen/check/shares.h"

#include <algorithm>
#include <utility>

#include "datagen/check/statistics.h"

namespace reveza::datagen::check {
namespace {

Outcome Judge(std::string name, uint64_t looked, const Goodness& goodness,
              std::string_view statistic) {
  if (goodness.degrees == 0) {
    return {Outcome::Verdict::kSkipped, std::move(name),
            fmt::format("{} are too few to judge", looked)};
  }
  return {goodness.p < kLeastChance ? Outcome::Verdict::kFinding : Outcome::Verdict::kFine,
          std::move(name),
          fmt::format("p = {:.3g} ({} {:.4g}, {} looked at)", goodness.p, statistic,
                      goodness.statistic, looked)};
}

class ShareCheck final : public TableCheck {
 public:
  ShareCheck(std::vector<ShareTest> shares, std::vector<CurveTest> curves, bool by_profile)
      : shares_(std::move(shares)),
        curves_(std::move(curves)),
        by_profile_(by_profile),
        samples_(curves_.size()) {
    for (const ShareTest& test : shares_) {
      auto& counts = counts_.emplace_back();
      for (const auto& weights : test.weights) counts.emplace_back(weights.size());
    }
  }

  void Look(const Batch& batch, const Position&) override {
    if (by_profile_ && batch.table().name == "customers") profiles_.Add(batch);
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      if (shares_[i].table == batch.table().name) Count(shares_[i], batch, counts_[i]);
    }
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      if (curves_[i].table == batch.table().name) Collect(curves_[i], batch, samples_[i]);
    }
  }

  void Report(std::vector<Outcome>& outcomes) const override {
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      std::vector<Goodness> parts;
      uint64_t looked = 0;
      for (std::size_t group = 0; group < counts_[i].size(); ++group) {
        for (const uint64_t count : counts_[i][group]) looked += count;
        parts.push_back(ChiSquare(counts_[i][group], shares_[i].weights[group]));
      }
      if (looked == 0) continue;
      outcomes.push_back(Judge(fmt::format("shares: {}.{}", shares_[i].table, shares_[i].name),
                               looked, Together(parts), "chi-square"));
    }
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      std::vector<double> sample = samples_[i];
      if (sample.empty()) continue;
      outcomes.push_back(Judge(fmt::format("shares: {}.{}", curves_[i].table, curves_[i].name),
                               sample.size(), UniformKs(sample), "distance"));
    }
  }

 private:
  using Counts = std::vector<std::vector<uint64_t>>;

  static std::vector<Field> FieldsOf(const Batch& batch,
                                     const std::vector<std::string_view>& columns) {
    std::vector<Field> fields;
    for (const std::string_view column : columns) fields.emplace_back(batch, column);
    return fields;
  }
  static bool Complete(std::span<const Field> fields, std::size_t row) {
    return std::ranges::all_of(fields, [&](const Field& field) {
      return field.column().nullable == Nullable::kYes || field.Has(row);
    });
  }

  void Count(const ShareTest& test, const Batch& batch, Counts& counts) const {
    const auto fields = FieldsOf(batch, test.columns);
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!Complete(fields, row)) continue;
      const auto group = test.group(fields, row, profiles_);
      if (!group) continue;
      const auto value = test.value(fields, row);
      if (value && *value < counts[*group].size()) ++counts[*group][*value];
    }
  }

  void Collect(const CurveTest& test, const Batch& batch, std::vector<double>& sample) const {
    const auto fields = FieldsOf(batch, test.columns);
    for (std::size_t row = 0; row < batch.rows() && sample.size() < kSample; ++row) {
      if (!Complete(fields, row)) continue;
      if (const auto share = test.share(fields, row, profiles_)) sample.push_back(*share);
    }
  }

  std::vector<ShareTest> shares_;
  std::vector<CurveTest> curves_;
  bool by_profile_;
  std::vector<Counts> counts_;  // of each test, group and value
  std::vector<std::vector<double>> samples_;
  Profiles profiles_;
};

}  // namespace

void Profiles::Add(const Batch& customers) {
  constexpr uint64_t kMost = uint64_t{1} << 27;  // what a damaged identifier may not ask for
  const Field id(customers, "customer_id");
  const Field profile(customers, "behavioral_profile");
  for (std::size_t row = 0; row < customers.rows(); ++row) {
    const uint64_t number = id.Has(row) ? NumberOf(id.Text(row)) : kMost;
    if (number >= kMost) continue;
    if (number >= profiles_.size()) {
      profiles_.resize(std::max<std::size_t>(number + 1, 2 * profiles_.size()), kUnknown);
    }
    profiles_[number] = profile.Has(row) ? static_cast<uint8_t>(profile.Code(row)) : kNone;
  }
}

uint8_t Profiles::Of(std::string_view customer_id) const {
  const uint64_t number = NumberOf(customer_id);
  return number < profiles_.size() ? profiles_[number] : kUnknown;
}

std::unique_ptr<TableCheck> CheckShares(std::vector<ShareTest> shares,
                                        std::vector<CurveTest> curves, bool by_profile) {
  return std::make_unique<ShareCheck>(std::move(shares), std::move(curves), by_profile);
}

}  // namespace reveza::datagen::check
