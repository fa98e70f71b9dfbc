// What a data set is, as a person says it: all that decides its bytes, and nothing else (not where
// it goes, nor how many threads make it).
//
// Three layers, each over the one before: defaults, a configuration file, the command line. A value
// that is wrong is refused with the place where it stands and what would be right. Values, so safe
// from any thread that owns them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "datagen/blocks.h"
#include "datagen/civil_time.h"
#include "datagen/coherent/parameters.h"
#include "datagen/defects/defect_rates.h"
#include "datagen/output/table_writer.h"
#include "datagen/run/partition.h"

namespace reveza::datagen {

enum class Rows { kOfTransactions, kOfRides, kOfBoth };

struct Settings {
  std::string model = "coherent";
  Rows type = Rows::kOfTransactions;
  uint64_t seed = 1;
  std::optional<uint64_t> rows;  // one of the two, or neither: kDefaultSize
  std::optional<Bytes> size;
  Share fraud_rate{.billionths = 20'000'000};
  bool real_frauds = false;           // the rate is that of PIX, see kRealFrauds
  uint32_t difficulty = 500;          // thousandths; of the coherent model
  std::optional<uint64_t> customers;  // nothing: as many as suit the rows
  std::optional<CivilDate> start_date;
  std::optional<CivilDate> end_date;
  std::optional<CivilDate> as_of;
  bool profiles = true;
  bool safe_identities = false;
  Format format = Format::kJsonLines;
  Codec compression = Codec::kZstd;
  int compression_level = 1;
  uint64_t row_group_rows = 65'536;
  std::optional<uint64_t> file_rows;  // nothing: as suits the format
  Money money = Money::kFloat;
  bool nested = false;
  std::vector<std::string> partition;  // names of PartitionKeys
  bool graph = false;                  // of the coherent model: nodes and edges too
  DefectRates defects;                 // of transactions and rides
  coherent::Parameters behaviour;      // its typologies, chains, lookalikes and risk, and no more

  // What Brazilian banks report of PIX: 7 in 100,000. In the coherent model it is the share of the
  // PIX rows; in the classic one, whose frauds are the same in all kinds of payment, of all rows.
  static constexpr Share kRealFrauds{.billionths = 70'000};
  static constexpr Bytes kDefaultSize = 1'000'000'000;

  // The days that hold where none were said: a year up to a fixed day, never a clock's.
  CivilDate End() const;
  CivilDate Start() const;
  CivilDate AsOf() const;
  uint64_t FileRows() const;
  TableOptions Options() const;
  PartitionKeys Partition() const;

  // Customers and days are said, and neither rows nor a size: the rows follow, and a later end date
  // appends some.
  bool Growing() const;

  // The same with nothing left open, and without what has no effect: two that come to the same data
  // are equal in each value.
  Settings Resolved(uint64_t its_rows) const;
};

enum class SettingKind { kValue, kFlag };

struct SettingInfo {
  std::string_view key;  // in the file; on the command line with dashes
  SettingKind kind = SettingKind::kValue;
  std::string_view meaning;
  std::string_view example;
};

// All settings, in the order in which they are shown.
std::span<const SettingInfo> AllSettings();

class Configuration {
 public:
  Configuration();

  // A configuration file's text; `name` is how messages call the file
  // ("my.toml:3: unknown key 'fraud_rat'; did you mean 'fraud_rate'?").
  Status AddText(std::string_view text, const std::string& name);
  // From the command line. A flag has "true" or "false".
  Status AddFlag(std::string_view key, std::string_view value);
  // What fits together only, once all layers are in.
  Status Check() const;

  // Of rows and size, if both were said in different layers, the later one only.
  Settings settings() const;
  // Whether a file or the command line says how much: rows or a size.
  bool SaysHowMuch() const;

 private:
  enum class Layer { kDefault, kFile, kCommandLine };

  Status Set(std::string_view key, std::string_view value, Layer layer);
  Layer LayerOf(std::string_view key) const;
  Status CheckModel() const;
  Status CheckDates() const;
  Status CheckFormat() const;

  Settings settings_;
  std::vector<Layer> layers_;  // by the order of AllSettings
};

enum class Comments { kNo, kYes };

// As a configuration file that says the same; with what each key means.
std::string ConfigurationText(const Settings& settings, Comments comments);

// Of what is resolved: the part that a manifest knows by its hash (the rest it says in words).
std::string HashedText(const Settings& settings);

}  // namespace reveza::datagen
