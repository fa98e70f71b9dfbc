// How much of a data set is broken on purpose. Values, so safe from any thread that owns them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "datagen/blocks.h"
#include "datagen/schema_defects.h"

namespace reveza::datagen {

struct DefectRates {
  // What is broken more often is no defect any more. All kinds together fit into the rows.
  static constexpr Share kMost{.billionths = Share::kWhole / 5};
  static constexpr Share kUsual{.billionths = Share::kWhole / 100};

  std::array<Share, kDefectKindNames.size()> of{};  // of the rows, by kind

  Share& Of(DefectKind kind) { return of[static_cast<std::size_t>(kind)]; }
  Share Of(DefectKind kind) const { return of[static_cast<std::size_t>(kind)]; }
  bool Any() const {
    return std::ranges::any_of(of, [](Share share) { return share.billionths > 0; });
  }
};

struct DefectOptions {
  uint64_t seed = 0;
  DefectRates rates;
  bool numbers_as_text = false;  // the format can hold a text where a number should be
};

}  // namespace reveza::datagen
