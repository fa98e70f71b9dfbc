// Validation of settings against each other.

#include <string>
#include <string_view>
#include <utility>

#include "fraudgen/model/classic/world.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/output/text_codec.h"
#include "fraudgen/run/partition.h"
#include "fraudgen/run/settings.h"
#include "fraudgen/run/settings_values.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen {

Status SettingsBuilder::Check() const {
  const Settings& settings = layers_.values();
  if (settings.rows && settings.size && LayerOf("rows") == LayerOf("size")) {
    return InvalidArgument("--rows and --size exclude each other; remove one of them");
  }
  RETURN_IF_ERROR(CheckModel());
  RETURN_IF_ERROR(CheckDates());
  return CheckFormat();
}

Status SettingsBuilder::CheckModel() const {
  const Settings& settings = layers_.values();
  const bool is_classic = settings.model == "classic";
  // Only on the command line: a configuration file may be used with both models.
  if (is_classic && LayerOf("difficulty") == Layer::kCommandLine) {
    return InvalidArgument("--difficulty requires --model coherent");
  }
  if (is_classic && LayerOf("graph") == Layer::kCommandLine) {
    return InvalidArgument("--graph requires --model coherent: the classic model has no accounts");
  }
  if (is_classic && LayerOf("sessions") == Layer::kCommandLine) {
    return InvalidArgument("--sessions requires --model coherent");
  }
  if (is_classic && settings.customers > classic::Options::kMaxCustomers) {
    return InvalidArgument("customers ({}): --model classic allows at most {}", *settings.customers,
                           classic::Options::kMaxCustomers);
  }
  if (settings.graph && settings.type == DataType::kRidesOnly) {
    return InvalidArgument("--graph requires --type transactions or all");
  }
  if (settings.sessions && settings.type == DataType::kRidesOnly) {
    return InvalidArgument("--sessions requires --type transactions or all");
  }
  if (is_classic && has_scenarios_) {
    return InvalidArgument("--scenario requires --model coherent");
  }
  // Also in a configuration file: all labels in place of those asked for would be a leak.
  if (is_classic && settings.labels_as_of) {
    return InvalidArgument(
        "labels_as_of requires --model coherent: frauds of the classic model are never reported");
  }
  if (!is_classic && LayerOf("as_of") == Layer::kCommandLine) {
    return InvalidArgument("--as-of requires --model classic; for coherent, use --end-date");
  }
  if (!is_classic && LayerOf("profiles") == Layer::kCommandLine) {
    return InvalidArgument(
        "--no-profiles requires --model classic: the coherent model is based on profiles");
  }
  return {};
}

Status SettingsBuilder::CheckDates() const {
  const Settings& settings = layers_.values();
  const CivilDate start = settings.Start();
  const CivilDate end = settings.End();
  const CivilDate as_of = settings.AsOf();
  if (DaysOf(start) > DaysOf(end)) {
    return InvalidArgument("start_date ({}) is after end_date ({}); exchange them", ShowDate(start),
                           ShowDate(end));
  }
  if (DaysOf(as_of) < DaysOf(end)) {
    return InvalidArgument("as_of ({}) is before the last day ({}); use that day or a later one",
                           ShowDate(as_of), ShowDate(end));
  }
  const CivilDate labels = settings.labels_as_of.value_or(start);
  if (DaysOf(labels) < DaysOf(start) || (settings.labels_as_of && labels.year > 2149)) {
    return InvalidArgument(
        "labels_as_of ({}): expected a day from the first ({}) on, up to 2149-12-31; reports go on "
        "after the last ({})",
        ShowDate(labels), ShowDate(start), ShowDate(end));
  }
  if (start.year < 1970 || as_of.year > 2149) {
    return InvalidArgument("dates must be from 1970 to 2149, not {} to {}", ShowDate(start),
                           ShowDate(as_of));
  }
  return CheckPeriod(settings.Partition());
}

Status SettingsBuilder::CheckFormat() const {
  const Settings& settings = layers_.values();
  const bool columnar = IsColumnar(settings.format);
  // Only on the command line: a configuration file may be used with several formats.
  for (const std::string_view key : {"row_group_rows", "money", "nested"}) {
    if (columnar || LayerOf(key) != Layer::kCommandLine) continue;
    return InvalidArgument("{} requires --format parquet or arrow, not {}", OptionOf(key),
                           NameOf(settings.format));
  }
  if (!columnar && settings.compression && !CompressesText(*settings.compression) &&
      LayerOf("compression") == Layer::kCommandLine) {
    return InvalidArgument(
        "--compression {} requires --format parquet; {} allows zstd, gzip, lz4 "
        "and none",
        NameOf(*settings.compression), NameOf(settings.format));
  }
  if (settings.format == Format::kArrow && settings.UsedCodec() != Codec::kZstd &&
      settings.UsedCodec() != Codec::kLz4 && settings.UsedCodec() != Codec::kNone) {
    return InvalidArgument("compression {}: arrow allows zstd, lz4 and none",
                           NameOf(settings.UsedCodec()));
  }
  const Codec codec = settings.UsedCodec();
  const int max_level = MaxLevel(codec);
  if (max_level == 0 && LayerOf("compression_level") == Layer::kCommandLine) {
    return InvalidArgument("--compression-level requires zstd, gzip or brotli, not {}",
                           NameOf(codec));
  }
  if (max_level != 0 && settings.compression_level > max_level) {
    return InvalidArgument("compression_level {} is too high; {} allows 1 to {}",
                           settings.compression_level, NameOf(codec), max_level);
  }
  return {};
}

}  // namespace reveza::fraudgen
