#include "datagen/defects/defect_plan.h"

#include <algorithm>
#include <utility>

namespace reveza::datagen {
namespace {

constexpr uint64_t kDefectsKey = 0x6465666563747321u;

// Rows that are only out of order a small buffer can set right; late ones it cannot.
using Reach = std::pair<int64_t, int64_t>;
constexpr Reach kLateRows = {100, 5'000};
constexpr Reach kOutOfOrderRows = {1, 20};
constexpr Reach kDuplicateRows = {0, 20};
constexpr uint64_t kMargin = 100;  // where they are few

uint64_t Part(uint64_t rows, Share share) {
  const auto exact = static_cast<unsigned __int128>(rows) * share.billionths;
  return static_cast<uint64_t>((exact + Share::kWhole / 2) / Share::kWhole);
}

}  // namespace

uint64_t DefectKey(uint64_t seed, std::string_view table) {
  const auto index = std::ranges::find(kBreakableTables, table);
  return Mix(Mix(seed ^ kDefectsKey) + static_cast<uint64_t>(index - kBreakableTables.begin()));
}

DefectPlan::DefectPlan(uint64_t key, const DefectRates& rates, uint64_t first_row, uint64_t rows)
    : random_(key, 0, 0), first_row_(first_row), rows_(rows) {
  // The last row of a block is sound: so each row that is held back is passed by one at least.
  if (rows_ < 2) return;
  const uint64_t most = rows_ - 1;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    // Rounding what comes before, not the part itself, leaves nothing over.
    const uint64_t part = Part(first_row + rows, rates.of[i]) - Part(first_row, rates.of[i]);
    counts_[i] = std::min(part, most - all_);
    all_ += counts_[i];
  }
  order_.emplace(Mix(Mix(key) + first_row), most);
}

// Beside those that come in their turn, which it is counted in, there are those that are late
// themselves or come again: as many as their shares say, for the plan spreads them evenly. A half
// more is further off than chance goes.
uint64_t DefectPlan::MostLate(const DefectRates& rates) {
  const uint64_t late = rates.Of(DefectKind::kLate).billionths;
  const uint64_t displaced = late + rates.Of(DefectKind::kOutOfOrder).billionths;
  const uint64_t twice = rates.Of(DefectKind::kDuplicate).billionths;
  if (displaced + twice == 0) return 0;
  const Reach reach = late > 0 ? kLateRows : kOutOfOrderRows;
  const auto turns = static_cast<uint64_t>(reach.second);
  const uint64_t rows = turns * (Share::kWhole + twice) / (Share::kWhole - displaced);
  return rows + rows / 2 + kMargin;
}

std::optional<Defect> DefectPlan::At(uint64_t offset) const {
  if (!order_ || all_ == 0 || offset + 1 >= rows_) return std::nullopt;
  uint64_t place = order_->At(offset);
  if (place >= all_) return std::nullopt;
  std::size_t kind = 0;
  while (place >= counts_[kind]) place -= counts_[kind++];
  Defect defect{.kind = static_cast<DefectKind>(kind), .bits = random_.Bits(first_row_ + offset)};
  const auto later = [&](Reach reach) {
    return static_cast<uint32_t>(
        reach.first + static_cast<int64_t>(UpperProduct(
                          defect.bits, static_cast<uint64_t>(reach.second - reach.first) + 1)));
  };
  switch (defect.kind) {
    case DefectKind::kLate:
      defect.rows_later = later(kLateRows);
      break;
    case DefectKind::kDuplicate:
      defect.rows_later = later(kDuplicateRows);
      break;
    case DefectKind::kOutOfOrder:
      defect.rows_later = later(kOutOfOrderRows);
      break;
    case DefectKind::kNull:
    case DefectKind::kSchema:
      break;
  }
  return defect;
}

}  // namespace reveza::datagen
