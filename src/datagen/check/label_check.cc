#include "datagen/check/label_check.h"

#include <algorithm>
#include <cmath>

#include "datagen/civil_time.h"

namespace reveza::datagen::check {

void LabelCheck::Look(const Batch& batch, const Position& position) {
  const std::string_view table = batch.table().name;
  if (table != "transactions" && table != "rides") return;
  const Field label(batch, "is_fraud");
  const Field time(batch, "timestamp");
  const Field type(batch, table == "rides" ? "is_fraud" : "type");
  Count& count = counts_[table][position.block];
  count.rows += batch.rows();
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const bool fraud = label.Has(row) && label.Flag(row);
    count.frauds += fraud ? 1 : 0;
    if (table != "rides" && type.Has(row) && type.Is(row, "PIX")) {
      ++count.pix;
      count.pix_frauds += fraud ? 1 : 0;
    }
    if (!settings_ || !time.Has(row)) continue;
    days_.Look();
    if (time.Number(row) < DaysOf(settings_->Start()) * kMicrosecondsPerDay ||
        time.Number(row) >= (DaysOf(settings_->End()) + 1) * kMicrosecondsPerDay) {
      days_.Bad(position, row, [&] {
        const TimeText text = FormatTime(time.Number(row));
        return std::string(text.data(), text.size());
      });
    }
  }
}

void LabelCheck::CheckCount(const Settings& settings, const Count& all, Tally& frauds) {
  const bool of_pix = settings.real_frauds && settings.model == "coherent" && all.pix > 0;
  if (of_pix) {
    // How many rows are PIX is known only when they are made, so it is right to a quarter, or to
    // what chance allows where there are few.
    const double expected = static_cast<double>(all.pix) *
                            static_cast<double>(settings.fraud_rate.billionths) /
                            static_cast<double>(Share::kWhole);
    const double off = std::abs(static_cast<double>(all.pix_frauds) - expected);
    if (off > expected / 4 + 4 * std::sqrt(expected) + 1) {
      frauds.Bad(fmt::format("{} frauds in {} PIX, {:.1f} were asked for", all.pix_frauds, all.pix,
                             expected));
    }
    return;
  }
  const auto plan = BlockPlan::Make(all.rows, BlockPlan::kMaxRows, settings.fraud_rate);
  if (plan && plan->frauds() != all.frauds) {
    frauds.Bad(fmt::format("{} frauds, {} were asked for", all.frauds, plan->frauds()));
  }
}

void LabelCheck::Report(std::vector<Outcome>& outcomes) const {
  for (const auto& [table, blocks] : counts_) {
    Count all;
    for (const auto& [block, count] : blocks) {
      all.rows += count.rows;
      all.frauds += count.frauds;
      all.pix += count.pix;
      all.pix_frauds += count.pix_frauds;
    }
    Tally even(fmt::format("labels: each block of {} has its part of the frauds", table));
    // What grows has its part of all days, not of those written so far.
    const bool growing = settings_ && settings_->Growing();
    for (const auto& [block, count] : blocks) {
      if (growing) break;
      even.Look();
      const double part = static_cast<double>(all.frauds) * static_cast<double>(count.rows) /
                          static_cast<double>(std::max<uint64_t>(1, all.rows));
      if (std::abs(static_cast<double>(count.frauds) - part) > 1.001) {
        even.Bad(fmt::format("block {} has {} frauds in {} rows, its part would be {:.1f}", block,
                             count.frauds, count.rows, part));
      }
    }
    if (!growing) outcomes.push_back(even.outcome());
    if (!settings_ || growing) continue;
    Tally rows(fmt::format("settings: {} has the rows that were asked for", table));
    rows.Look();
    if (settings_->rows && all.rows != *settings_->rows) {
      rows.Bad(fmt::format("{} rows, {} were asked for", all.rows, *settings_->rows));
    }
    Tally frauds(fmt::format("settings: {} has the frauds that were asked for", table));
    frauds.Look();
    CheckCount(*settings_, all, frauds);
    outcomes.push_back(rows.outcome());
    outcomes.push_back(frauds.outcome());
  }
  if (settings_) outcomes.push_back(days_.outcome());
}

}  // namespace reveza::datagen::check
