#include "datagen/run/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "base/nearest.h"
#include "datagen/output/format.h"
#include "datagen/run/behaviour.h"
#include "datagen/run/plan.h"
#include "datagen/run/settings_file.h"
#include "datagen/run/settings_values.h"

namespace reveza::datagen {
namespace {

// The default must not depend on when somebody asks.
constexpr CivilDate kDefaultEnd = {.year = 2025, .month = 12, .day = 31};
constexpr int64_t kDefaultDays = 365;
constexpr uint64_t kMostRows = 1'000'000'000'000;
constexpr uint64_t kMostCustomers = 1'000'000'000;
constexpr uint64_t kMostRowGroupRows = 16'777'216;

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

constexpr std::array<std::string_view, 2> kModels = {"coherent", "classic"};
constexpr std::array<std::string_view, 3> kRowKinds = {"transactions", "rides", "all"};
constexpr std::array<std::string_view, 2> kIdentities = {"valid", "safe"};

std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", text); }
std::string ShowFlag(bool value) { return value ? "true" : "false"; }
template <typename T, typename Parsed>
Status Store(T& to, Parsed parsed) {
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  to = *std::move(parsed);
  return {};
}

template <typename T>
Status StoreWord(T& to, std::string_view text, std::span<const std::string_view> words) {
  const auto index = ParseWord(text, words);
  if (!index) return std::unexpected(index.error());
  to = static_cast<T>(*index);
  return {};
}

struct Setting {
  SettingInfo info;
  Status (*parse)(Settings&, std::string_view);
  std::string (*show)(const Settings&);  // as in the file; empty: nothing is said
};

template <typename T>
std::string ShowOptional(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// Whether an example of it needs quotes in a file.
bool IsText(std::string_view key) {
  return key == "size" || key == "partition" || key == "defects";
}

constexpr SettingKind kValue = SettingKind::kValue;
constexpr SettingKind kFlag = SettingKind::kFlag;

constexpr auto kWhat = std::to_array<Setting>({
    {{"model", kValue, "coherent: lives over time; classic: each row for itself", "classic"},
     [](Settings& s, std::string_view text) -> Status {
       const auto index = ParseWord(text, kModels);
       if (!index) return std::unexpected(index.error());
       s.model = kModels.at(*index);
       return {};
     },
     [](const Settings& s) { return Quoted(s.model); }},
    {{"type", kValue, "transactions, rides (with their drivers) or all", "transactions"},
     [](Settings& s, std::string_view text) { return StoreWord(s.type, text, kRowKinds); },
     [](const Settings& s) { return Quoted(kRowKinds.at(static_cast<std::size_t>(s.type))); }},
    {{"seed", kValue, "another number, other data; the same, the same bytes", "1"},
     [](Settings& s, std::string_view text) {
       return Store(s.seed, ParseCount(text, 0, std::numeric_limits<int64_t>::max()));
     },
     [](const Settings& s) { return fmt::format("{}", s.seed); }},
    {{"rows", kValue, "so many transactions (and so many rides)", "1000000"},
     [](Settings& s, std::string_view text) {
       return Store(s.rows, ParseCount(text, 1, kMostRows));
     },
     [](const Settings& s) { return ShowOptional(s.rows); }},
    {{"size", kValue, "so many true bytes of all tables: GB is 10^9, GiB 2^30", "10GB"},
     [](Settings& s, std::string_view text) { return Store(s.size, ParseSize(text)); },
     [](const Settings& s) { return s.size ? Quoted(ShowSize(*s.size)) : ""; }},
    {{"fraud_rate", kValue, "share of rows that are fraud, exactly; real: 7 in 100,000 PIX",
      "0.02"},
     [](Settings& s, std::string_view text) -> Status {
       s.real_frauds = text == "real";
       if (!s.real_frauds) return Store(s.fraud_rate, ParseShare(text));
       s.fraud_rate = Settings::kRealFrauds;
       return {};
     },
     [](const Settings& s) { return s.real_frauds ? Quoted("real") : ShowShare(s.fraud_rate); }},
    {{"difficulty", kValue, "easy, medium, hard or 0 to 1 (coherent)", "0.5"},
     [](Settings& s, std::string_view text) { return Store(s.difficulty, ParseDifficulty(text)); },
     [](const Settings& s) { return ShowDifficulty(s.difficulty); }},
    {{"customers", kValue,
      "how many, else as suits the rows; alone (coherent payments): a later end date appends rows",
      "50000"},
     [](Settings& s, std::string_view text) {
       return Store(s.customers, ParseCount(text, 1, kMostCustomers));
     },
     [](const Settings& s) { return ShowOptional(s.customers); }},
    {{"start_date", kValue, "first day; else 365 days before the last", "2025-01-01"},
     [](Settings& s, std::string_view text) { return Store(s.start_date, ParseDate(text)); },
     [](const Settings& s) { return ShowDate(s.start_date); }},
    {{"end_date", kValue, "last day; else 2025-12-31, whatever day it is", "2025-12-31"},
     [](Settings& s, std::string_view text) { return Store(s.end_date, ParseDate(text)); },
     [](const Settings& s) { return ShowDate(s.end_date); }},
    {{"as_of", kValue, "the day that ages are counted to; else the last day (classic)",
      "2025-12-31"},
     [](Settings& s, std::string_view text) { return Store(s.as_of, ParseDate(text)); },
     [](const Settings& s) { return ShowDate(s.as_of); }},
    {{"profiles", kFlag, "whether customers have behavioural profiles (classic)", "true"},
     [](Settings& s, std::string_view text) { return Store(s.profiles, ParseFlag(text)); },
     [](const Settings& s) { return ShowFlag(s.profiles); }},
    {{"identities", kValue, "valid, or safe: taxpayer numbers that fail their check", "safe"},
     [](Settings& s, std::string_view text) {
       return StoreWord(s.safe_identities, text, kIdentities);
     },
     [](const Settings& s) { return Quoted(kIdentities.at(s.safe_identities ? 1 : 0)); }},
    {{"graph", kFlag, "tables of nodes and edges for graph tools, too (coherent)", "true"},
     [](Settings& s, std::string_view text) { return Store(s.graph, ParseFlag(text)); },
     [](const Settings& s) { return ShowFlag(s.graph); }},
    {{"defects", kValue,
      "rows broken on purpose: late, duplicate, outoforder, null, schema, each with its share",
      "late=0.01,duplicate"},
     [](Settings& s, std::string_view text) { return Store(s.defects, ParseDefects(text)); },
     [](const Settings& s) { return s.defects.Any() ? Quoted(ShowDefects(s.defects)) : ""; }},
});

constexpr auto kHow = std::to_array<Setting>({
    {{"format", kValue, "jsonl, json, csv, tsv, parquet or arrow", "parquet"},
     [](Settings& s, std::string_view text) -> Status {
       // As the original called it.
       const bool folders = text == "parquet_partitioned";
       if (folders && s.partition.empty()) s.partition = {"year", "month"};
       return StoreWord(s.format, folders ? "parquet" : text, FormatNames());
     },
     [](const Settings& s) { return Quoted(NameOf(s.format)); }},
    {{"compression", kValue, "zstd, snappy, gzip, brotli or none (Parquet and Arrow)", "zstd"},
     [](Settings& s, std::string_view text) {
       return StoreWord(s.compression, text, CodecNames());
     },
     [](const Settings& s) { return Quoted(NameOf(s.compression)); }},
    {{"compression_level", kValue, "of zstd, gzip or brotli", "1"},
     [](Settings& s, std::string_view text) {
       return Store(s.compression_level, ParseCount(text, 1, 22));
     },
     [](const Settings& s) { return fmt::format("{}", s.compression_level); }},
    {{"row_group_rows", kValue, "rows of a Parquet row group", "65536"},
     [](Settings& s, std::string_view text) {
       return Store(s.row_group_rows, ParseCount(text, 1, kMostRowGroupRows));
     },
     [](const Settings& s) { return fmt::format("{}", s.row_group_rows); }},
    {{"file_rows", kValue, "rows of a file; 0: a whole block; else text files of about 128 MB",
      "131072"},
     [](Settings& s, std::string_view text) {
       return Store(s.file_rows, ParseCount(text, 0, kMostRows));
     },
     [](const Settings& s) { return ShowOptional(s.file_rows); }},
    {{"money", kValue, "float, decimal or cents (Parquet and Arrow)", "decimal"},
     [](Settings& s, std::string_view text) { return StoreWord(s.money, text, MoneyNames()); },
     [](const Settings& s) { return Quoted(NameOf(s.money)); }},
    {{"nested", kFlag, "structs instead of address_city (Parquet and Arrow)", "false"},
     [](Settings& s, std::string_view text) { return Store(s.nested, ParseFlag(text)); },
     [](const Settings& s) { return ShowFlag(s.nested); }},
    {{"partition", kValue, "folders by year,month,day or a category such as address_state",
      "year,month"},
     [](Settings& s, std::string_view text) { return Store(s.partition, ParsePartition(text)); },
     [](const Settings& s) {
       return s.partition.empty() ? "" : Quoted(fmt::format("{}", fmt::join(s.partition, ",")));
     }},
});

constexpr auto kTable = [] {
  std::array<Setting, kWhat.size() + kHow.size()> table = {};
  std::ranges::copy(kWhat, table.begin());
  std::ranges::copy(kHow, table.begin() + kWhat.size());
  return table;
}();

constexpr auto kInfos = [] {
  std::array<SettingInfo, kTable.size()> infos = {};
  std::ranges::transform(kTable, infos.begin(), &Setting::info);
  return infos;
}();

std::size_t IndexOf(std::string_view key) {
  const auto found = std::ranges::find(kInfos, key, &SettingInfo::key);
  return static_cast<std::size_t>(found - kInfos.begin());
}

}  // namespace

CivilDate Settings::End() const { return end_date ? *end_date : as_of.value_or(kDefaultEnd); }

CivilDate Settings::Start() const {
  return start_date ? *start_date : DateOf(DaysOf(End()) - kDefaultDays);
}

CivilDate Settings::AsOf() const { return as_of.value_or(End()); }

uint64_t Settings::FileRows() const { return file_rows.value_or(DefaultFileRows(format)); }

TableOptions Settings::Options() const {
  return {.format = format,
          .codec = compression,
          .level = compression_level,
          .row_group_rows = static_cast<int64_t>(row_group_rows),
          .money = money,
          .nested = nested,
          .classic_columns = model == "classic",
          .zone = model == "coherent"};
}

PartitionKeys Settings::Partition() const {
  return {.names = partition, .first_day = DaysOf(Start()), .last_day = DaysOf(End())};
}

bool Settings::Growing() const {
  return model == "coherent" && type == Rows::kOfTransactions && customers && !rows && !size;
}

Settings Settings::Resolved(uint64_t its_rows) const {
  Settings resolved = *this;
  if (!Growing()) resolved.rows = its_rows;
  resolved.size.reset();
  resolved.start_date = Start();
  resolved.end_date = End();
  resolved.as_of = AsOf();
  resolved.file_rows = FileRows();
  const Settings plain;
  if (model == "classic") {
    resolved.difficulty = plain.difficulty;
    resolved.graph = plain.graph;
    resolved.behaviour = plain.behaviour;
  } else {
    resolved.as_of = End();
    resolved.profiles = plain.profiles;
  }
  const bool columnar = format == Format::kParquet || format == Format::kArrow;
  if (!columnar) {
    resolved.compression = plain.compression;
    resolved.money = plain.money;
    resolved.nested = plain.nested;
  }
  if (!columnar || compression == Codec::kNone || compression == Codec::kSnappy) {
    resolved.compression_level = plain.compression_level;
  }
  if (format != Format::kParquet) resolved.row_group_rows = plain.row_group_rows;
  return resolved;
}

std::span<const SettingInfo> AllSettings() { return kInfos; }

Configuration::Configuration() : layers_(kTable.size(), Layer::kDefault) {}

Configuration::Layer Configuration::LayerOf(std::string_view key) const {
  return layers_.at(IndexOf(key));
}

Status Configuration::Set(std::string_view key, std::string_view value, Layer layer) {
  const std::size_t index = IndexOf(key);
  if (index == kTable.size()) {
    std::vector<std::string_view> keys;
    for (const SettingInfo& info : kInfos) keys.push_back(info.key);
    const auto nearest = Nearest(key, keys);
    return Wrong(nearest ? fmt::format("unknown key '{}'; did you mean '{}'?", key, *nearest)
                         : fmt::format("unknown key '{}'; `fraudgen config` lists all", key));
  }
  if (auto parsed = kTable.at(index).parse(settings_, value); !parsed) return parsed;
  layers_[index] = layer;
  return {};
}

Status Configuration::AddText(std::string_view text, const std::string& name) {
  const auto settings = ReadSettingsFile(text, name);
  if (!settings) return std::unexpected(settings.error());
  std::optional<BehaviourKeys> behaviour;  // for files that have any
  for (const FileSetting& setting : *settings) {
    const bool of_behaviour = setting.key.contains('.');
    if (of_behaviour && !behaviour) behaviour.emplace(settings_.behaviour);
    if (auto set = of_behaviour ? behaviour->Set(setting.key, setting.value)
                                : Set(setting.key, setting.value, Layer::kFile);
        !set) {
      const bool known = !set.error().message.starts_with("unknown key");
      return Wrong(fmt::format("{}:{}: {}{}", name, setting.line, known ? setting.key + ": " : "",
                               set.error().message));
    }
  }
  if (LayerOf("rows") == Layer::kFile && LayerOf("size") == Layer::kFile) {
    return Wrong(fmt::format("{}: it has both rows and size; leave one of them", name));
  }
  return {};
}

Status Configuration::AddFlag(std::string_view key, std::string_view value) {
  if (auto set = Set(key, value, Layer::kCommandLine); !set) {
    std::string flag(key);
    std::ranges::replace(flag, '_', '-');
    return Wrong(fmt::format("--{}: {}", flag, set.error().message));
  }
  return {};
}

Settings Configuration::settings() const {
  Settings settings = settings_;
  if (settings.rows && settings.size) {
    if (LayerOf("rows") > LayerOf("size")) {
      settings.size.reset();
    } else {
      settings.rows.reset();
    }
  }
  if (!settings.rows && !settings.size && !settings.Growing()) {
    settings.size = Settings::kDefaultSize;
  }
  return settings;
}

bool Configuration::SaysHowMuch() const {
  return LayerOf("rows") != Layer::kDefault || LayerOf("size") != Layer::kDefault;
}

std::string ConfigurationText(const Settings& settings, Comments comments) {
  std::string text;
  for (const Setting& setting : kTable) {
    const std::string value = setting.show(settings);
    if (comments == Comments::kYes) {
      fmt::format_to(std::back_inserter(text), "# {}\n", setting.info.meaning);
    }
    if (!value.empty()) {
      fmt::format_to(std::back_inserter(text), "{} = {}\n", setting.info.key, value);
    } else if (comments == Comments::kYes) {
      fmt::format_to(std::back_inserter(text), "# {} = {}\n", setting.info.key,
                     IsText(setting.info.key) ? Quoted(setting.info.example)
                                              : std::string(setting.info.example));
    }
  }
  if (settings.model != "coherent") return text;
  if (comments == Comments::kYes) {
    text += "\n# How people and thieves behave; docs/fraud-model.md says what each number means.\n";
  }
  return text + BehaviourText(settings.behaviour);
}

std::string HashedText(const Settings& settings) {
  std::string text;
  const auto add = [&](const Setting& setting) {
    fmt::format_to(std::back_inserter(text), "{} = {}\n", setting.info.key, setting.show(settings));
  };
  for (const Setting& setting : kWhat) {
    // What came later says nothing where it is not used: data sets from before stay the same.
    if (setting.info.key == "graph" && !settings.graph) continue;
    if (setting.info.key == "defects" && !settings.defects.Any()) continue;
    if (setting.info.key != "model" && setting.info.key != "seed") add(setting);
  }
  for (const Setting& setting : kHow) {
    if (setting.info.key == "file_rows") add(setting);
    if (setting.info.key == "partition" && !settings.partition.empty()) add(setting);
  }
  if (settings.model == "coherent") text += BehaviourText(settings.behaviour);
  return text;
}

}  // namespace reveza::datagen
