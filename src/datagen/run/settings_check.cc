// What no single setting can say: whether all of them go together.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "datagen/civil_time.h"
#include "datagen/output/format.h"
#include "datagen/run/settings.h"
#include "datagen/run/settings_values.h"

namespace reveza::datagen {
namespace {

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

}  // namespace

Status Configuration::Check() const {
  if (settings_.rows && settings_.size && LayerOf("rows") == LayerOf("size")) {
    return Wrong("--rows and --size are two answers to one question; leave one of them");
  }
  if (auto model = CheckModel(); !model) return model;
  if (auto dates = CheckDates(); !dates) return dates;
  return CheckFormat();
}

Status Configuration::CheckModel() const {
  const bool classic = settings_.model == "classic";
  // From a file they may stand beside any model: it is used with both.
  if (classic && LayerOf("difficulty") == Layer::kCommandLine) {
    return Wrong("--difficulty is for --model coherent, not for classic");
  }
  if (classic && LayerOf("graph") == Layer::kCommandLine) {
    return Wrong("--graph is for --model coherent: the rows of classic have no accounts");
  }
  if (settings_.graph && settings_.type == Rows::kOfRides) {
    return Wrong("--graph is about payments; write --type transactions or all");
  }
  if (!classic && LayerOf("as_of") == Layer::kCommandLine) {
    return Wrong("--as-of is for --model classic; write --end-date");
  }
  if (!classic && LayerOf("profiles") == Layer::kCommandLine) {
    return Wrong("--no-profiles is for --model classic: lives over time come from profiles");
  }
  return {};
}

Status Configuration::CheckDates() const {
  const CivilDate start = settings_.Start();
  const CivilDate end = settings_.End();
  const CivilDate as_of = settings_.AsOf();
  if (DaysOf(start) > DaysOf(end)) {
    return Wrong(
        fmt::format("the first day ({}) is after the last ({}); exchange start_date and "
                    "end_date",
                    ShowDate(start), ShowDate(end)));
  }
  if (DaysOf(as_of) < DaysOf(end)) {
    return Wrong(fmt::format("as_of ({}) is before the last day ({}); it may not be earlier",
                             ShowDate(as_of), ShowDate(end)));
  }
  if (start.year < 1970 || as_of.year > 2149) {
    return Wrong(fmt::format("the days from {} to {} should be from 1970 to 2149", ShowDate(start),
                             ShowDate(as_of)));
  }
  return {};
}

Status Configuration::CheckFormat() const {
  const bool columnar = settings_.format == Format::kParquet || settings_.format == Format::kArrow;
  // From a file they may stand beside any format: it is used with several.
  for (const std::string_view key : {"compression_level", "row_group_rows", "money", "nested"}) {
    if (columnar || LayerOf(key) != Layer::kCommandLine) continue;
    std::string flag(key);
    std::ranges::replace(flag, '_', '-');
    return Wrong(fmt::format("--{} is for --format parquet or arrow, not for {}", flag,
                             NameOf(settings_.format)));
  }
  const bool leveled =
      settings_.compression != Codec::kNone && settings_.compression != Codec::kSnappy;
  if (!leveled && LayerOf("compression_level") == Layer::kCommandLine) {
    return Wrong(fmt::format("--compression-level is for zstd, gzip or brotli, not for {}",
                             NameOf(settings_.compression)));
  }
  const int most = settings_.compression == Codec::kGzip     ? 9
                   : settings_.compression == Codec::kBrotli ? 11
                                                             : 22;
  if (settings_.compression_level > most) {
    return Wrong(fmt::format("compression_level {} is too high; {} goes to {}",
                             settings_.compression_level, NameOf(settings_.compression), most));
  }
  return {};
}

}  // namespace reveza::datagen
