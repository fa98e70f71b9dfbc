#include "fraudgen/run/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "fraudgen/output/table_writer.h"
#include "fraudgen/output/text_codec.h"
#include "fraudgen/run/behaviour.h"
#include "fraudgen/run/plan.h"
#include "fraudgen/run/settings_values.h"

namespace reveza::fraudgen {
namespace {

// Fixed, so that the same command gives the same data on any day.
constexpr CivilDate kDefaultEnd = {.year = 2025, .month = 12, .day = 31};
constexpr int64_t kDefaultDays = 365;  // with the first and the last
constexpr uint64_t kMaxRows = 1'000'000'000'000;
constexpr uint64_t kMaxCustomers = 1'000'000'000;
constexpr uint64_t kMaxRowGroupRows = 16'777'216;

constexpr std::array<std::string_view, 2> kModels = {"coherent", "classic"};
constexpr std::array<std::string_view, 3> kDataTypes = {"transactions", "rides", "all"};
constexpr std::array<std::string_view, 2> kIdentities = {"valid", "safe"};

std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

// Returns "" for nullopt.
constexpr auto kAsNumber = [](const auto& value) {
  if constexpr (requires { value.has_value(); }) {
    return value ? fmt::format("{}", *value) : std::string();
  } else {
    return fmt::format("{}", value);
  }
};

template <uint64_t kMin, uint64_t kMax>
constexpr auto kCount = [](std::string_view text) { return ParseCount(text, kMin, kMax); };
template <const auto& kWords>
constexpr auto kWord = [](std::string_view text) { return ParseWord(text, kWords); };
template <const auto& kWords>
constexpr auto kAsWord =
    [](auto index) { return Quoted(kWords.at(static_cast<std::size_t>(index))); };

// Makes the setting of a member from the functions that parse and show its values.
template <auto kMember, auto kParse, auto kShow = kAsNumber>
constexpr Setting Value(const SettingInfo& info) {
  return {info,
          [](Settings& s, std::string_view text) -> Status {
            ASSIGN_OR_RETURN(auto value, kParse(text));
            s.*kMember = static_cast<std::remove_cvref_t<decltype(s.*kMember)>>(std::move(value));
            return {};
          },
          [](const Settings& s) -> std::string { return kShow(s.*kMember); }};
}

// Returns true if the example must be quoted in a file.
bool IsQuoted(std::string_view key) {
  return key == "size" || key == "partition" || key == "defects" || key == "compression";
}

constexpr SettingKind kValue = SettingKind::kValue;
constexpr SettingKind kFlag = SettingKind::kFlag;

constexpr auto kDataSettings = std::to_array<Setting>({
    {{"model", kValue, "coherent|classic",
      "generator: coherent (simulated lives) or classic (independent "
      "rows) (default coherent)",
      "classic"},
     [](Settings& s, std::string_view text) -> Status {
       ASSIGN_OR_RETURN(const auto index, ParseWord(text, kModels));
       s.model = kModels.at(index);
       return {};
     },
     [](const Settings& s) { return Quoted(s.model); }},
    Value<&Settings::type, kWord<kDataTypes>, kAsWord<kDataTypes>>(
        {"type", kValue, "transactions|rides|all",
         "data to generate: transactions, rides (with drivers) or all (default transactions)",
         "transactions"}),
    Value<&Settings::seed, kCount<0, std::numeric_limits<int64_t>::max()>>(
        {"seed", kValue, "N",
         "random seed; the same seed and settings give the same bytes (default 1)", "1"}),
    Value<&Settings::rows, kCount<1, kMaxRows>>(
        {"rows", kValue, "N", "number of transactions and/or rides, such as 5M", "1000000"}),
    Value<&Settings::size, ParseSize,
          [](const auto& size) { return size ? Quoted(ShowSize(*size)) : ""; }>(
        {"size", kValue, "SIZE", "total bytes of all tables: GB is 10^9, GiB is 2^30 (default 1GB)",
         "10GB"}),
    {{"fraud_rate", kValue, "SHARE|real",
      "exact share of fraudulent rows; real: 7 in 100,000 PIX (default 0.02)", "0.02"},
     [](Settings& s, std::string_view text) -> Status {
       s.real_fraud_rate = text == "real";
       ASSIGN_OR_RETURN(s.fraud_rate,
                        s.real_fraud_rate ? Settings::kRealFraudRate : ParseShare(text));
       return {};
     },
     [](const Settings& s) {
       return s.real_fraud_rate ? Quoted("real") : ShowShare(s.fraud_rate);
     }},
    Value<&Settings::difficulty, ParseDifficulty, ShowDifficulty>(
        {"difficulty", kValue, "easy|medium|hard|SHARE",
         "how hard fraud is to detect: easy, medium, hard or 0 to 1 (coherent; default hard)",
         "0.85"}),
    Value<&Settings::customers, kCount<1, kMaxCustomers>>(
        {"customers", kValue, "N",
         "number of customers, such as 50k (default: proportional to the rows); without rows and "
         "size, a later "
         "end date appends rows (coherent transactions)",
         "50000"}),
    Value<&Settings::start_date, ParseDate, ShowDate>(
        {"start_date", kValue, "DATE", "first day (default: the last 365 days)", "2025-01-01"}),
    Value<&Settings::end_date, ParseDate, ShowDate>(
        {"end_date", kValue, "DATE", "last day (default 2025-12-31)", "2025-12-31"}),
    Value<&Settings::as_of, ParseDate, ShowDate>(
        {"as_of", kValue, "DATE", "reference day for ages (classic; default: the last day)",
         "2025-12-31"}),
    Value<&Settings::labels_as_of, ParseDate, ShowDate>(
        {"labels_as_of", kValue, "DATE",
         "labels that the bank had at the end of this day (coherent; default: all)", "2025-06-30"}),
    Value<&Settings::profiles, ParseFlag>(
        {"profiles", kFlag, "", "give customers behavioural profiles (classic)", "true"}),
    Value<&Settings::safe_identities, kWord<kIdentities>, kAsWord<kIdentities>>(
        {"identities", kValue, "valid|safe",
         "taxpayer numbers: valid, or safe (check digits never match) (default valid)", "safe"}),
    Value<&Settings::sessions, ParseFlag>(
        {"sessions", kFlag, "", "also write log-ins before payments and without (coherent)",
         "true"}),
    Value<&Settings::graph, ParseFlag>(
        {"graph", kFlag, "", "also write nodes and edges for graph tools (coherent)", "true"}),
    Value<&Settings::defects, ParseDefects,
          [](const auto& defects) { return defects.Any() ? Quoted(ShowDefects(defects)) : ""; }>(
        {"defects", kValue, "DEFECT,...",
         "inject defects: late, duplicate, outoforder, null, schema, each with an optional share",
         "late=0.01,duplicate"}),
});

constexpr auto kFileSettings = std::to_array<Setting>({
    {{"format", kValue, "jsonl|json|csv|tsv|parquet|arrow",
      "file format: jsonl, json, csv, tsv, parquet or arrow (default jsonl)", "parquet"},
     [](Settings& s, std::string_view text) -> Status {
       // The Brazilian Fraud Data Generator's name for partitioned Parquet.
       const bool partitioned = text == "parquet_partitioned";
       if (partitioned && s.partition.empty()) s.partition = {"year", "month"};
       ASSIGN_OR_RETURN(const auto index, ParseWord(partitioned ? "parquet" : text, kFormatNames));
       s.format = static_cast<Format>(index);
       return {};
     },
     [](const Settings& s) { return Quoted(NameOf(s.format)); }},
    {{"compression", kValue, "zstd|snappy|gzip|brotli|lz4|none",
      "codec: zstd (default of Parquet and Arrow), gzip, lz4, none (default of text), or, for "
      "Parquet, snappy, brotli",
      "zstd"},
     [](Settings& s, std::string_view text) -> Status {
       ASSIGN_OR_RETURN(const auto index, ParseWord(text, kCodecNames));
       s.compression = static_cast<Codec>(index);
       return {};
     },
     [](const Settings& s) { return s.compression ? Quoted(NameOf(*s.compression)) : ""; }},
    Value<&Settings::compression_level, kCount<1, 22>>(
        {"compression_level", kValue, "N",
         "level of zstd (1 to 22), gzip (1 to 9) or brotli (1 to 11) (default 1)", "1"}),
    Value<&Settings::row_group_rows, kCount<1, kMaxRowGroupRows>>(
        {"row_group_rows", kValue, "N", "rows per Parquet row group (default 131072)", "131072"}),
    Value<&Settings::file_rows, kCount<0, kMaxRows>>(
        {"file_rows", kValue, "N",
         "rows per file; 0: one file per block (default: text files of about 128 MB)", "131072"}),
    Value<&Settings::money, kWord<kMoneyNames>, kAsWord<kMoneyNames>>(
        {"money", kValue, "float|decimal|cents",
         "type of amounts: float, decimal or cents (Parquet and Arrow; default float)", "decimal"}),
    Value<&Settings::nested, ParseFlag>(
        {"nested", kFlag, "",
         "structs such as address.city instead of flat columns (Parquet and Arrow)", "false"}),
    Value<&Settings::partition, ParsePartition,
          [](const auto& keys) {
            return keys.empty() ? "" : Quoted(fmt::format("{}", fmt::join(keys, ",")));
          }>({"partition", kValue, "KEY,...",
              "Hive partitioning by year,month,day or a category such as address_state",
              "year,month"}),
});

constexpr auto kTable = [] {
  std::array<Setting, kDataSettings.size() + kFileSettings.size()> table = {};
  std::ranges::copy(kDataSettings, table.begin());
  std::ranges::copy(kFileSettings, table.begin() + kDataSettings.size());
  return table;
}();

}  // namespace

CivilDate Settings::End() const { return end_date ? *end_date : as_of.value_or(kDefaultEnd); }

CivilDate Settings::Start() const {
  return start_date ? *start_date : DateOf(DaysOf(End()) - kDefaultDays + 1);
}

CivilDate Settings::AsOf() const { return as_of.value_or(End()); }

uint64_t Settings::FileRows() const { return file_rows.value_or(DefaultFileRows(format)); }

TableOptions Settings::Options() const {
  return {.format = format,
          .codec = IsColumnar(format) ? UsedCodec() : Codec::kNone,
          .text_codec = TextCodec(),
          .level = compression_level,
          .row_group_rows = static_cast<int64_t>(row_group_rows),
          .money = money,
          .nested = nested,
          .classic_columns = model == "classic"};
}

Codec Settings::UsedCodec() const {
  const Codec codec = compression.value_or(IsColumnar(format) ? Codec::kZstd : Codec::kNone);
  // A configuration file may be used with several formats.
  return IsColumnar(format) || CompressesText(codec) ? codec : Codec::kNone;
}

Codec Settings::TextCodec() const { return IsColumnar(format) ? Codec::kNone : UsedCodec(); }

PartitionKeys Settings::Partition() const {
  return {.names = partition, .first_day = DaysOf(Start()), .last_day = DaysOf(End())};
}

std::string_view Settings::MainTable() const {
  return type == DataType::kRidesOnly ? "rides" : "transactions";
}

bool Settings::IsGrowing() const {
  return model == "coherent" && type == DataType::kTransactionsOnly && customers && !rows && !size;
}

Settings Settings::Resolved(uint64_t row_count) const {
  Settings resolved = *this;
  if (!IsGrowing()) resolved.rows = row_count;
  resolved.size.reset();
  resolved.start_date = Start();
  resolved.end_date = End();
  resolved.as_of = AsOf();
  resolved.file_rows = FileRows();
  resolved.default_size = false;
  const Settings defaults;
  if (model == "classic") {
    resolved.difficulty = defaults.difficulty;
    resolved.sessions = defaults.sessions;
    resolved.graph = defaults.graph;
    resolved.behaviour = defaults.behaviour;
  } else {
    resolved.as_of = End();
    resolved.profiles = defaults.profiles;
  }
  if (!resolved.sessions) {
    for (coherent::Scenario& scenario : resolved.behaviour.scenarios) scenario.signs = {};
  }
  const bool columnar = IsColumnar(format);
  resolved.compression = UsedCodec();
  if (!columnar) {
    resolved.money = defaults.money;
    resolved.nested = defaults.nested;
  }
  if (MaxLevel(UsedCodec()) == 0) {
    resolved.compression_level = defaults.compression_level;
  }
  if (format != Format::kParquet) resolved.row_group_rows = defaults.row_group_rows;
  return resolved;
}

std::span<const Setting> AllSettings() { return kTable; }

SettingsBuilder::SettingsBuilder() : layers_(kTable, "fraudgen config") {}

Status SettingsBuilder::AddText(std::string_view text, const std::string& name) {
  ASSIGN_OR_RETURN(Node root, ParseToml(text, name));
  RETURN_IF_ERROR(TakeScenarios(root, name, layers_.values().behaviour));
  ASSIGN_OR_RETURN(const auto settings, SettingsOf(root, name));
  std::optional<BehaviourKeys> behaviour;  // only for files with sections
  for (const FileSetting& setting : settings) {
    const std::string place = fmt::format("{}:{}", name, setting.line);
    if (!setting.key.contains('.')) {
      RETURN_IF_ERROR(layers_.Set(setting.key, setting.value, {Layer::kFile, place}));
      continue;
    }
    if (setting.key.starts_with("typologies.")) {
      return InvalidArgument(
          "{}: kinds of fraud are scenarios now; `fraudgen scenarios NAME` prints one of them",
          place);
    }
    if (!behaviour) behaviour.emplace(layers_.values().behaviour);
    Status set = behaviour->Set(setting.key, setting.value);
    if (!set && !set.error().message.starts_with("unknown key")) set = WithPlace(setting.key, set);
    RETURN_IF_ERROR(WithPlace(place, set));
  }
  if (LayerOf("rows") == Layer::kFile && LayerOf("size") == Layer::kFile) {
    return InvalidArgument("{}: both rows and size are set; remove one of them", name);
  }
  return {};
}

Status SettingsBuilder::AddScenario(std::string_view text, const std::string& name) {
  ASSIGN_OR_RETURN(const Node root, ParseToml(text, name));
  ASSIGN_OR_RETURN(auto scenario, coherent::ReadScenario(root, name));
  layers_.values().behaviour.Add(std::move(scenario));
  has_scenarios_ = true;
  return {};
}

Status SettingsBuilder::AddFlag(std::string_view key, std::string_view value) {
  return layers_.SetOption(key, value);
}

Result<Settings> SettingsBuilder::Build() const {
  RETURN_IF_ERROR(Check());
  Settings settings = layers_.values();
  if (settings.rows && settings.size) {
    if (LayerOf("rows") > LayerOf("size")) {
      settings.size.reset();
    } else {
      settings.rows.reset();
    }
  }
  settings.default_size = !settings.rows && !settings.size && !settings.IsGrowing();
  if (settings.default_size) settings.size = Settings::kDefaultSize;
  return settings;
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
                     IsQuoted(setting.info.key) ? Quoted(setting.info.example)
                                                : std::string(setting.info.example));
    }
  }
  if (settings.model != "coherent") return text;
  if (comments == Comments::kYes) {
    text += "\n# Behaviour of customers and fraudsters, described in docs/fraud-model.md.\n";
  }
  return text + BehaviourText(settings.behaviour);
}

std::string HashedText(const Settings& settings) {
  std::string text;
  const auto add = [&](const Setting& setting) {
    fmt::format_to(std::back_inserter(text), "{} = {}\n", setting.info.key, setting.show(settings));
  };
  for (const Setting& setting : kDataSettings) {
    // Left out where unused, so that the hashes of data sets made before they existed stay valid.
    if (setting.info.key == "sessions" && !settings.sessions) continue;
    if (setting.info.key == "graph" && !settings.graph) continue;
    if (setting.info.key == "defects" && !settings.defects.Any()) continue;
    if (setting.info.key == "labels_as_of" && !settings.labels_as_of) continue;
    if (setting.info.key != "model" && setting.info.key != "seed") add(setting);
  }
  for (const Setting& setting : kFileSettings) {
    if (setting.info.key == "file_rows") add(setting);
    if (setting.info.key == "partition" && !settings.partition.empty()) add(setting);
  }
  if (settings.model == "coherent") text += BehaviourText(settings.behaviour);
  return text;
}

}  // namespace reveza::fraudgen
