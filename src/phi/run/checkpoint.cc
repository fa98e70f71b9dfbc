#include "phi/run/checkpoint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "base/file_bytes.h"
#include "platform/output_file.h"

namespace reveza::phi {
namespace {

using nlohmann::json;

// The file: this text, the length of the heading as 8 bytes, the heading (JSON), then the states,
// the ring and the glances as they are in memory (little-endian floats), then 8 bytes of a check
// sum over all before.
constexpr std::string_view kMagic = "reveza phi checkpoint 1\n";

// XXH3 of what it is given, in any pieces.
class CheckSum {
 public:
  CheckSum() : state_(XXH3_createState()) { XXH3_64bits_reset(state_.get()); }
  void Add(std::string_view bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::uint64_t Value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

template <class T>
std::string_view BytesOf(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

json SummaryJson(const MeasureSummary& each) {
  return {each.count,      each.least,      each.sum,      each.most,
          each.last_cycle, each.last_count, each.last_sum, each.unmeasured};
}

MeasureSummary SummaryOf(const json& from) {
  return {.count = from.at(0),
          .unmeasured = from.at(7),
          .least = from.at(1),
          .sum = from.at(2),
          .most = from.at(3),
          .last_cycle = from.at(4),
          .last_count = from.at(5),
          .last_sum = from.at(6)};
}

json UnmeasuredJson(const std::optional<Unmeasured>& first) {
  if (!first) return json();
  return {first->cycle, first->run, first->why};
}

json ValuesJson(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(value == value ? json(value) : json());
  return list;
}

std::string HeadingText(const RunSettings& settings, const Checkpoint& checkpoint) {
  json parameters = json::object();
  for (const Fact& fact : FactsOf(settings)) parameters[fact.name] = fact.value;
  json glances = json::array();
  for (const auto& each : checkpoint.glances) glances.push_back(each.size());
  json summary = json::array();
  for (const MeasureSummary& each : checkpoint.summary) summary.push_back(SummaryJson(each));
  json since = json::array();
  for (const CycleMeans& each : checkpoint.since) {
    since.push_back({each.cycle, ValuesJson(each.values)});
  }
  const json heading = {
      {"version", checkpoint.version},
      {"numbers", kNumbersVersion},
      {"engine", checkpoint.engine},
      {"parameters", parameters},
      {"cycle", checkpoint.state.cycle},
      {"vectors", checkpoint.state.vectors.size()},
      {"ring", checkpoint.state.ring.size()},
      {"glances", glances},
      {"rows", {checkpoint.rows.bytes, checkpoint.rows.parts, checkpoint.rows.rows}},
      {"legacy_bytes", checkpoint.legacy_bytes},
      {"summary", summary},
      {"unmeasured", UnmeasuredJson(checkpoint.unmeasured)},
      {"seconds", checkpoint.seconds},
      {"started", checkpoint.started},
      {"since", since}};
  return heading.dump();
}

std::unexpected<Error> Damaged(const std::filesystem::path& path, std::string_view why) {
  return Fail(Error::Code::kIncompatible,
              fmt::format("the checkpoint {} is damaged ({}); begin anew with --fresh",
                          path.string(), why));
}

// All that differs, named, or nothing.
Status CheckFacts(const RunSettings& settings, const json& heading,
                  const std::filesystem::path& path) {
  std::string other;
  const json& parameters = heading.at("parameters");
  for (const Fact& fact : FactsOf(settings)) {
    const std::string there = parameters.value(fact.name, "nothing");
    if (there == fact.value) continue;
    other += fmt::format("{}--{} is {} there and {} here", other.empty() ? "" : ", ", fact.name,
                         there, fact.value);
  }
  if (!other.empty()) {
    return Fail(Error::Code::kIncompatible,
                fmt::format("{} is of another run: {}; give the same, another --output, or --fresh "
                            "to begin anew",
                            path.string(), other));
  }
  const int numbers = heading.at("numbers");
  if (numbers == kNumbersVersion || settings.allow_drift) return {};
  return Fail(
      Error::Code::kIncompatible,
      fmt::format("{} was computed by version {}, whose numbers (version {}) are others than "
                  "these (version {}); --allow-drift goes on with these, --fresh begins anew",
                  path.string(), heading.at("version").get<std::string>(), numbers,
                  kNumbersVersion));
}

// Reads what is left of a file from the front.
class Rest {
 public:
  explicit Rest(std::string_view bytes) : bytes_(bytes) {}
  std::optional<std::string_view> Take(std::size_t size) {
    if (size > bytes_.size()) return std::nullopt;
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  template <class T>
  bool Fill(std::span<T> values) {
    const auto taken = Take(values.size_bytes());
    if (taken && !values.empty()) std::memcpy(values.data(), taken->data(), taken->size());
    return taken.has_value();
  }

 private:
  std::string_view bytes_;
};

void FillHeading(const json& heading, Checkpoint& made) {
  made.version = heading.at("version");
  made.engine = heading.at("engine");
  made.state.cycle = heading.at("cycle");
  const json& rows = heading.at("rows");
  made.rows = {.bytes = rows.at(0), .parts = rows.at(1), .rows = rows.at(2)};
  made.legacy_bytes = heading.at("legacy_bytes");
  for (const json& each : heading.at("summary")) made.summary.push_back(SummaryOf(each));
  if (const json& first = heading.at("unmeasured"); !first.is_null()) {
    made.unmeasured = Unmeasured{.cycle = first.at(0), .run = first.at(1), .why = first.at(2)};
  }
  made.seconds = heading.at("seconds");
  made.started = heading.at("started");
  for (const json& each : heading.at("since")) {
    CycleMeans means{.cycle = each.at(0), .values = {}};
    for (const json& value : each.at(1)) {
      means.values.push_back(value.is_null() ? kNotAvailable : value.get<double>());
    }
    made.since.push_back(std::move(means));
  }
  for (const json& each : heading.at("glances")) {
    made.glances.emplace_back(each.get<std::size_t>());
  }
}

Result<Checkpoint> Parse(const RunSettings& settings, const std::filesystem::path& path,
                         std::string_view bytes) {
  std::uint64_t sum = 0;
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + sizeof sum) {
    return Damaged(path, "it does not begin as one");
  }
  std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
  bytes.remove_suffix(sizeof sum);
  CheckSum check;
  check.Add(bytes);
  if (check.Value() != sum) return Damaged(path, "its check sum is another");
  Rest rest(bytes.substr(kMagic.size()));
  std::uint64_t length = 0;
  if (!rest.Fill(std::span(&length, 1))) return Damaged(path, "it is too short");
  const auto text = rest.Take(length);
  if (!text) return Damaged(path, "it is too short");
  const json heading = json::parse(*text, nullptr, false);
  Checkpoint made;
  try {
    if (auto checked = CheckFacts(settings, heading, path); !checked) {
      return std::unexpected(std::move(checked).error());
    }
    FillHeading(heading, made);
    made.state.vectors = AlignedArray<float>(heading.at("vectors").get<std::size_t>());
    made.state.ring = AlignedArray<float>(heading.at("ring").get<std::size_t>());
  } catch (const json::exception& error) {
    return Damaged(path, error.what());
  }
  bool whole = rest.Fill(made.state.vectors.all()) && rest.Fill(made.state.ring.all());
  for (auto& each : made.glances) whole = whole && rest.Fill(std::span(each));
  if (!whole) return Damaged(path, "it is too short");
  return made;
}

}  // namespace

std::filesystem::path CheckpointPath(const std::filesystem::path& folder) {
  return folder / "checkpoint";
}

Result<std::optional<Checkpoint>> LoadCheckpoint(const RunSettings& settings) {
  const std::filesystem::path path = CheckpointPath(settings.folder);
  const auto bytes = FileBytes(path);
  if (!bytes && bytes.error().code == Error::Code::kNotFound) return std::nullopt;
  if (!bytes) return std::unexpected(bytes.error());
  return Parse(settings, path, *bytes);
}

Status SaveCheckpoint(const RunSettings& settings, const Checkpoint& checkpoint) {
  auto file = platform::OutputFile::Create(CheckpointPath(settings.folder));
  if (!file) return std::unexpected(std::move(file).error());
  const std::string heading = HeadingText(settings, checkpoint);
  const auto length = static_cast<std::uint64_t>(heading.size());
  CheckSum sum;
  std::string front(kMagic);
  front.append(BytesOf(std::span(&length, 1)));
  front.append(heading);
  std::size_t count = 0;
  for (const auto& each : checkpoint.glances) count += each.size();
  std::string glances;
  glances.reserve(count * sizeof(Glance));
  for (const auto& each : checkpoint.glances) glances.append(BytesOf(std::span(each)));
  for (const std::string_view part :
       {std::string_view(front), BytesOf(checkpoint.state.vectors.all()),
        BytesOf(checkpoint.state.ring.all()), std::string_view(glances)}) {
    sum.Add(part);
    if (auto wrote = file->Append(part); !wrote) return wrote;
  }
  const std::uint64_t value = sum.Value();
  if (auto wrote = file->Append(BytesOf(std::span(&value, 1))); !wrote) return wrote;
  return file->Finish();
}

}  // namespace reveza::phi
