#include "fraudgen/model/defects/defect_plan.h"

#include <algorithm>
#include <utility>

namespace reveza::fraudgen {
namespace {

constexpr uint64_t kDefectsKey = 0x6465666563747321u;

// How many later rows are written first, by kind of defect. A small reorder buffer fixes rows that
// are out of order, but not late ones.
constexpr std::array<Range<uint64_t>, kDefectKindNames.size()> kRowsLater = {
    {{100, 5'000}, {0, 20}, {1, 20}, {0, 0}, {0, 0}}};
constexpr uint64_t kMargin = 100;  // for small numbers

}  // namespace

uint64_t DefectKey(uint64_t seed, std::string_view table) {
  const auto index = std::ranges::find(kBreakableTables, table);
  return Mix(Mix(seed ^ kDefectsKey) + static_cast<uint64_t>(index - kBreakableTables.begin()));
}

DefectPlan::DefectPlan(uint64_t key, const DefectRates& rates, uint64_t first_row, uint64_t rows)
    : random_(key, 0, 0), first_row_(first_row), rows_(rows) {
  // The last row of a block is never defective, so at least one row overtakes each delayed row.
  if (rows_ < 2) return;
  const uint64_t max = rows_ - 1;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    // Cumulative rounding makes the blocks add up.
    const uint64_t part = rates.of[i].Of(first_row + rows) - rates.of[i].Of(first_row);
    counts_[i] = std::min(part, max - all_);
    all_ += counts_[i];
  }
  order_.emplace(Mix(Mix(key) + first_row), max);
}

// The delay counts rows written in turn; delayed rows and duplicates written meanwhile add to it in
// proportion to their rates, because the plan spreads them evenly. The margin of a half is far
// beyond random fluctuation.
uint64_t DefectPlan::MaxLateRows(const DefectRates& rates) {
  const uint64_t late = rates.Of(DefectKind::kLate).billionths;
  const uint64_t displaced = late + rates.Of(DefectKind::kOutOfOrder).billionths;
  const uint64_t twice = rates.Of(DefectKind::kDuplicate).billionths;
  if (displaced + twice == 0) return 0;
  const DefectKind slowest = late > 0 ? DefectKind::kLate : DefectKind::kOutOfOrder;
  const uint64_t turns = kRowsLater[static_cast<std::size_t>(slowest)].max;
  const uint64_t rows = turns * (Share::kWhole + twice) / (Share::kWhole - displaced);
  return rows + rows / 2 + kMargin;
}

std::optional<Defect> DefectPlan::At(uint64_t offset) const {
  if (!order_ || all_ == 0 || offset + 1 >= rows_) return std::nullopt;
  uint64_t place = order_->At(offset);
  if (place >= all_) return std::nullopt;
  std::size_t kind = 0;
  while (place >= counts_[kind]) place -= counts_[kind++];
  const uint64_t bits = random_.Bits(first_row_ + offset);
  const Range<uint64_t>& later = kRowsLater[kind];
  return Defect{.kind = static_cast<DefectKind>(kind),
                .rows_later = static_cast<uint32_t>(later.min +
                                                    UpperProduct(bits, later.max - later.min + 1)),
                .bits = bits};
}

}  // namespace reveza::fraudgen
