// Everything that decides the bytes of a data set, and nothing else: not where it is written, nor
// by how many threads.
//
// Three layers, each overriding the one before: defaults, a configuration file, the command line.
// SettingsBuilder validates them and builds the one Settings value that everything else reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/settings/layered_settings.h"
#include "fraudgen/model/blocks.h"
#include "fraudgen/model/coherent/parameters.h"
#include "fraudgen/model/defects/defect_plan.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/partition.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen {

enum class DataType { kTransactionsOnly, kRidesOnly, kAll };

struct Settings {
  std::string model = "coherent";
  DataType type = DataType::kTransactionsOnly;
  uint64_t seed = 1;
  std::optional<uint64_t> rows;  // at most one of `rows` and `size`
  std::optional<Bytes> size;
  bool default_size = false;  // neither was given, and the data is not growing: kDefaultSize
  Share fraud_rate{.billionths = 20'000'000};
  bool real_fraud_rate = false;       // fraud_rate is kRealFraudRate
  uint32_t difficulty = 850;          // thousandths; coherent model only
  std::optional<uint64_t> customers;  // unset: proportional to the rows
  std::optional<CivilDate> start_date;
  std::optional<CivilDate> end_date;
  std::optional<CivilDate> as_of;
  std::optional<CivilDate> labels_as_of;  // unset: all labels; coherent model only
  bool profiles = true;
  bool safe_identities = false;
  Format format = Format::kJsonLines;
  std::optional<Codec> compression;  // unset: zstd for Parquet and Arrow, none for text
  int compression_level = 1;
  uint64_t row_group_rows = 131'072;
  std::optional<uint64_t> file_rows;  // unset: DefaultFileRows(format)
  Money money = Money::kFloat;
  bool nested = false;
  std::vector<std::string> partition;  // names of PartitionKeys
  bool sessions = false;               // write log-ins too; coherent model only
  bool graph = false;                  // write nodes and edges too; coherent model only
  DefectRates defects;                 // of transactions and rides
  coherent::Parameters behaviour;      // the behaviour sections only; the rest is not used

  // The rate that Brazilian banks report for PIX: 7 in 100,000. In the coherent model it is a share
  // of the PIX rows; in the classic model, whose fraud does not depend on the payment type, of all
  // rows.
  static constexpr Share kRealFraudRate{.billionths = 70'000};
  static constexpr Bytes kDefaultSize = 1'000'000'000;

  // Dates with their defaults applied: a year ending on a fixed day, independent of the clock.
  CivilDate End() const;
  CivilDate Start() const;
  CivilDate AsOf() const;
  uint64_t FileRows() const;
  TableOptions Options() const;
  PartitionKeys Partition() const;
  Codec UsedCodec() const;
  // Returns the codec of text files; none for other formats.
  Codec TextCodec() const;

  // Returns the name of the largest table: transactions, or rides if there are only those.
  std::string_view MainTable() const;

  // Returns true if customers are given, but neither rows nor a size: the rows follow from
  // customers and days, and a later end date appends rows without changing earlier ones.
  bool IsGrowing() const;

  // Returns a copy with every default filled in and every setting without effect reset, so that
  // settings that produce the same data are equal.
  Settings Resolved(uint64_t row_count) const;
};

enum class SettingKind { kValue, kFlag };

struct SettingInfo {
  std::string_view key;  // in files; on the command line with dashes
  SettingKind kind = SettingKind::kValue;
  std::string_view type;     // placeholder of the value in help texts: SIZE
  std::string_view meaning;  // one line for help texts and configuration files
  std::string_view example;
};

struct Setting {
  SettingInfo info;
  Status (*parse)(Settings&, std::string_view);
  std::string (*show)(const Settings&);  // as in a file; empty: not set
};

// All settings, in display order.
std::span<const Setting> AllSettings();

// Collects the layers of settings. Errors name the place of a wrong value and the valid values.
class SettingsBuilder {
 public:
  SettingsBuilder();

  // Adds the text of a configuration file; `name` is the file's name in messages
  // ("my.toml:3: unknown key 'fraud_rat'; did you mean 'fraud_rate'?").
  Status AddText(std::string_view text, const std::string& name);
  // Adds the scenario in a file, after configuration files. A name that is known is replaced.
  Status AddScenario(std::string_view text, const std::string& name);
  // Adds a command-line option. A flag has the value "true" or "false".
  Status AddFlag(std::string_view key, std::string_view value);

  // Validates the combination of all layers and returns the settings. If rows and size come from
  // different layers, the later layer wins. kInvalidArgument: settings that contradict each other.
  Result<Settings> Build() const;

 private:
  Layer LayerOf(std::string_view key) const { return layers_.OriginOf(key).layer; }
  Status Check() const;
  Status CheckModel() const;
  Status CheckDates() const;
  Status CheckFormat() const;

  LayeredSettings<Settings, Setting> layers_;
  bool has_scenarios_ = false;  // by AddScenario()
};

enum class Comments { kNo, kYes };

// Returns a configuration file with these settings; Comments::kYes adds each key's meaning.
std::string ConfigurationText(const Settings& settings, Comments comments);

// Returns the text behind the configuration hash in manifests. `settings` must be resolved.
// Settings that a manifest has in fields of its own (model, seed, format) are left out.
std::string HashedText(const Settings& settings);

}  // namespace reveza::fraudgen
