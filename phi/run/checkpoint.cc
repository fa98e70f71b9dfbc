#include "phi/run/checkpoint.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "common/base/read_file.h"
#include "common/platform/output_file.h"

namespace reveza::phi {
namespace {

using nlohmann::json;

// File layout: this magic, the length of the header as 8 bytes, the header (JSON), then the states,
// the ring and the samples as they are in memory (little-endian floats), then 8 bytes of a check
// sum over all before.
constexpr std::string_view kMagic = "reveza phi checkpoint 1\n";

template <class T>
std::string_view BytesOf(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

json SummaryJson(const MeasureSummary& each) {
  return {each.count,      each.min,        each.sum,      each.max,
          each.last_cycle, each.last_count, each.last_sum, each.unmeasured};
}

MeasureSummary SummaryOf(const json& from) {
  return {.count = from.at(0),
          .unmeasured = from.at(7),
          .min = from.at(1),
          .sum = from.at(2),
          .max = from.at(3),
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

std::string HeaderText(const RunSettings& settings, const Checkpoint& checkpoint) {
  json parameters = json::object();
  for (const Parameter& parameter : ParametersOf(settings))
    parameters[parameter.name] = parameter.value;
  json samples = json::array();
  for (const auto& each : checkpoint.samples) samples.push_back(each.size());
  json summary = json::array();
  for (const MeasureSummary& each : checkpoint.summary) summary.push_back(SummaryJson(each));
  json since = json::array();
  for (const CycleMeans& each : checkpoint.since) {
    since.push_back({each.cycle, ValuesJson(each.values)});
  }
  const json header = {
      {"version", checkpoint.version},
      {"numbers", kNumbersVersion},
      {"engine", checkpoint.engine},
      {"parameters", parameters},
      {"cycle", checkpoint.state.cycle},
      {"vectors", checkpoint.state.vectors.size()},
      {"ring", checkpoint.state.ring.size()},
      {"glances", samples},
      {"rows", {checkpoint.rows.bytes, checkpoint.rows.parts, checkpoint.rows.rows}},
      {"summary", summary},
      {"unmeasured", UnmeasuredJson(checkpoint.unmeasured)},
      {"seconds", checkpoint.seconds},
      {"started", checkpoint.started},
      {"since", since}};
  return header.dump();
}

std::unexpected<Error> Damaged(const std::filesystem::path& path, std::string_view why) {
  return Fail(Error::Code::kIncompatible,
              "the checkpoint {} is damaged ({}); start over with --fresh", path.string(), why);
}

// Returns kIncompatible if parameters or the version of the numbers differ, and names each.
Status CheckParameters(const RunSettings& settings, const json& header,
                       const std::filesystem::path& path) {
  std::string other;
  const json& parameters = header.at("parameters");
  for (const Parameter& parameter : ParametersOf(settings)) {
    const std::string there = parameters.value(parameter.name, "nothing");
    if (there == parameter.value) continue;
    other += fmt::format("{}--{} is {} there and {} here", other.empty() ? "" : ", ",
                         parameter.name, there, parameter.value);
  }
  if (!other.empty()) {
    return Fail(Error::Code::kIncompatible,
                "{} belongs to a run with other parameters: {}; use the same parameters, another "
                "--output, or --fresh to start over",
                path.string(), other);
  }
  const int numbers = header.at("numbers");
  if (numbers == kNumbersVersion) return {};
  return Fail(Error::Code::kIncompatible,
              "{} was written by version {}, whose numerical results (version {}) differ from this "
              "one's (version {}); use --fresh to start over",
              path.string(), header.at("version").get<std::string>(), numbers, kNumbersVersion);
}

// Moves the first bytes of `from` to `values`. Returns false if there are too few.
template <class T>
bool Take(std::span<T> values, std::string_view& from) {
  const std::size_t size = values.size_bytes();
  if (size > from.size()) return false;
  if (size > 0) std::memcpy(values.data(), from.data(), size);
  from.remove_prefix(size);
  return true;
}

void ParseHeader(const json& header, Checkpoint& made) {
  made.version = header.at("version");
  made.engine = header.at("engine");
  made.state.cycle = header.at("cycle");
  const json& rows = header.at("rows");
  made.rows = {.bytes = rows.at(0), .parts = rows.at(1), .rows = rows.at(2)};
  for (const json& each : header.at("summary")) made.summary.push_back(SummaryOf(each));
  if (const json& first = header.at("unmeasured"); !first.is_null()) {
    made.unmeasured = Unmeasured{.cycle = first.at(0), .run = first.at(1), .why = first.at(2)};
  }
  made.seconds = header.at("seconds");
  made.started = header.at("started");
  for (const json& each : header.at("since")) {
    CycleMeans means{.cycle = each.at(0), .values = {}};
    for (const json& value : each.at(1)) {
      means.values.push_back(value.is_null() ? kNotAvailable : value.get<double>());
    }
    made.since.push_back(std::move(means));
  }
  for (const json& each : header.at("glances")) {
    made.samples.emplace_back(each.get<std::size_t>());
  }
}

Result<Checkpoint> Parse(const RunSettings& settings, const std::filesystem::path& path,
                         std::string_view bytes) {
  std::uint64_t sum = 0;
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + sizeof sum) {
    return Damaged(path, "bad magic");
  }
  std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
  bytes.remove_suffix(sizeof sum);
  if (XXH3_64bits(bytes.data(), bytes.size()) != sum) return Damaged(path, "checksum mismatch");
  std::string_view rest = bytes.substr(kMagic.size());
  std::uint64_t length = 0;
  if (!Take(std::span(&length, 1), rest) || length > rest.size()) {
    return Damaged(path, "truncated");
  }
  const json header = json::parse(rest.substr(0, length), nullptr, false);
  rest.remove_prefix(length);
  Checkpoint made;
  try {
    RETURN_IF_ERROR(CheckParameters(settings, header, path));
    ParseHeader(header, made);
    made.state.vectors = AlignedArray<float>(header.at("vectors").get<std::size_t>());
    made.state.ring = AlignedArray<float>(header.at("ring").get<std::size_t>());
  } catch (const json::exception& error) {
    return Damaged(path, error.what());
  }
  bool whole = Take(made.state.vectors.all(), rest) && Take(made.state.ring.all(), rest);
  for (auto& each : made.samples) whole = whole && Take(std::span(each), rest);
  if (!whole) return Damaged(path, "truncated");
  return made;
}

}  // namespace

std::filesystem::path CheckpointPath(const std::filesystem::path& folder) {
  return folder / "checkpoint";
}

Result<std::optional<Checkpoint>> LoadCheckpoint(const RunSettings& settings) {
  const std::filesystem::path path = CheckpointPath(settings.folder);
  const auto bytes = ReadFile(path);
  if (!bytes && bytes.error().code == Error::Code::kNotFound) return std::nullopt;
  if (!bytes) return std::unexpected(bytes.error());
  return Parse(settings, path, *bytes);
}

Status SaveCheckpoint(const RunSettings& settings, const Checkpoint& checkpoint) {
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(CheckpointPath(settings.folder)));
  const std::string header = HeaderText(settings, checkpoint);
  const auto length = static_cast<std::uint64_t>(header.size());
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> sum(XXH3_createState(),
                                                                     XXH3_freeState);
  XXH3_64bits_reset(sum.get());
  std::string front(kMagic);
  front.append(BytesOf(std::span(&length, 1)));
  front.append(header);
  std::size_t count = 0;
  for (const auto& each : checkpoint.samples) count += each.size();
  std::string samples;
  samples.reserve(count * sizeof(CycleSample));
  for (const auto& each : checkpoint.samples) samples.append(BytesOf(std::span(each)));
  for (const std::string_view part :
       {std::string_view(front), BytesOf(checkpoint.state.vectors.all()),
        BytesOf(checkpoint.state.ring.all()), std::string_view(samples)}) {
    XXH3_64bits_update(sum.get(), part.data(), part.size());
    RETURN_IF_ERROR(file.Append(part));
  }
  const std::uint64_t value = XXH3_64bits_digest(sum.get());
  RETURN_IF_ERROR(file.Append(BytesOf(std::span(&value, 1))));
  return file.Finish();
}

}  // namespace reveza::phi
