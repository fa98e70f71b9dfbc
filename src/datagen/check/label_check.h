// Labels are shared out evenly: each block has its exact part of the frauds. And rows and days are
// what was asked for, where the folder says what that was.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "datagen/check/table_check.h"
#include "datagen/run/settings.h"

namespace reveza::datagen::check {

class LabelCheck final : public TableCheck {
 public:
  // `settings`: what was asked for, if it is known.
  explicit LabelCheck(std::optional<Settings> settings) : settings_(std::move(settings)) {}

  void Look(const Batch& batch, const Position& position) override;
  void Report(std::vector<Outcome>& outcomes) const override;

 private:
  struct Count {
    uint64_t rows = 0;
    uint64_t frauds = 0;
    uint64_t pix = 0;
    uint64_t pix_frauds = 0;
  };
  static void CheckCount(const Settings& settings, const Count& all, Tally& frauds);

  std::optional<Settings> settings_;
  std::map<std::string_view, std::map<uint64_t, Count>> counts_;  // of each table and block
  Tally days_{"settings: all rows are in the days that were asked for"};
};

}  // namespace reveza::datagen::check
