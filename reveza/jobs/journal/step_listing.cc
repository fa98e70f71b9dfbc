#include "reveza/jobs/journal/step_listing.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reveza/jobs/definition/job_json.h"

namespace reveza::jobs {
namespace {

using nlohmann::json;

constexpr const char* kListing = "listing";  // journal key

// Returns a hash of what the command runs and where. It tells commands of a job apart, and is too
// short to find the value of a variable.
std::string HashOf(const Command& command) {
  json fields = {command.shell, TextToJson(command.folder.native())};
  for (const auto& word : command.arguments) fields.push_back(TextToJson(word));
  for (const auto& [name, value] : command.environment) {
    fields.push_back({TextToJson(name), TextToJson(value)});
  }
  const std::string text = fields.dump();
  return fmt::format("{:08x}", static_cast<std::uint32_t>(XXH3_64bits(text.data(), text.size())));
}

// Splits "a=1 b=2" where the names begin, each as early as possible.
std::vector<std::string> SplitLabel(std::string_view label, std::span<const std::string> names) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    label.remove_prefix(std::min(label.size(), names[i].size() + 1));
    const std::size_t end =
        i + 1 < names.size() ? label.find(" " + names[i + 1] + "=") : label.npos;
    values.emplace_back(label.substr(0, end));
    label.remove_prefix(end == label.npos ? label.size() : end + 1);
  }
  return values;
}

}  // namespace

std::uint32_t StepListing::FindOrAdd(Kind kind) {
  std::uint32_t commands = 0;
  for (const Kind& known : kinds_) {
    if (known.command == kind.command) kind.number = known.number;
    commands = std::max(commands, known.number);
  }
  if (kind.number == 0) kind.number = commands + 1;
  const auto found = std::ranges::find(kinds_, kind);
  const auto index = static_cast<std::uint32_t>(found - kinds_.begin());
  if (found == kinds_.end()) kinds_.push_back(std::move(kind));
  return index;
}

void StepListing::Add(const Job& job, std::size_t step) {
  const Step& added = job.steps[step];
  const bool same = &job == last_job_ && job.steps[last_step_].command == added.command &&
                    job.steps[last_step_].parameters.HasSameNames(added.parameters);
  if (!same) {
    Kind kind;
    kind.command = HashOf(job.commands[added.command]);
    for (const auto parameter : added.parameters) kind.names.emplace_back(parameter.name);
    last_kind_ = FindOrAdd(std::move(kind));
    last_job_ = &job;
    last_step_ = step;
  }
  const std::size_t end = size() + 1;
  if (!ends_.empty() && ends_.back().second == last_kind_) {
    ends_.back().first = end;
  } else {
    ends_.emplace_back(end, last_kind_);
  }
  const auto has_blank = [](const ParameterView& one) { return one.value.contains(' '); };
  if (std::ranges::none_of(added.parameters, has_blank)) return;
  std::vector<std::string> values;
  for (const auto parameter : added.parameters) values.emplace_back(parameter.value);
  if (SplitLabel(LabelOf(job, step), kinds_[last_kind_].names) != values) {
    values_[end - 1] = std::move(values);
  }
}

StepListing StepListing::Of(const Job& job) {
  StepListing listing;
  for (std::size_t step = 0; step < job.steps.size(); ++step) listing.Add(job, step);
  return listing;
}

std::string StepListing::Format() const {
  json kinds = json::array();
  for (const Kind& kind : kinds_) {
    kinds.push_back({{"command", kind.command}, {"number", kind.number}, {"names", kind.names}});
  }
  json values = json::array();
  for (const auto& [step, texts] : values_) {
    json list = json::array();
    for (const std::string& text : texts) list.push_back(TextToJson(text));
    values.push_back({step, std::move(list)});
  }
  return json({{"kinds", kinds}, {"ends", ends_}, {"values", values}}).dump();
}

std::optional<StepListing> StepListing::Parse(std::string_view text) {
  StepListing listing;
  try {
    const json document = json::parse(text);
    for (const json& one : document.at("kinds")) {
      listing.kinds_.push_back({one.at("command"), one.at("number"), one.at("names")});
    }
    document.at("ends").get_to(listing.ends_);
    for (const json& one : document.at("values")) {
      auto& values = listing.values_[one.at(0).get<std::size_t>()];
      for (const json& value : one.at(1)) values.push_back(TextFromJson(value));
    }
  } catch (const json::exception&) {
    return std::nullopt;
  }
  const auto is_known = [&](const auto& run) { return run.second < listing.kinds_.size(); };
  if (!std::ranges::all_of(listing.ends_, is_known)) return std::nullopt;
  return listing;
}

Result<std::optional<StepListing>> StepListing::Read(Journal& journal, std::size_t steps) {
  ASSIGN_OR_RETURN(const auto kept, journal.Get(kListing));
  auto listing = kept ? Parse(*kept) : std::nullopt;
  if (listing && listing->size() != steps) listing.reset();
  return listing;
}

Status StepListing::WriteTo(Journal& journal) const {
  const std::string text = Format();
  ASSIGN_OR_RETURN(const auto kept, journal.Get(kListing));
  return kept == text ? Status{} : journal.Set(kListing, text);
}

bool StepListing::HasSeveralCommands() const {
  const auto is_other = [](const Kind& kind) { return kind.number != 1; };
  return std::ranges::any_of(kinds_, is_other);
}

const StepListing::Kind& StepListing::KindOf(std::size_t step) const {
  const auto run =
      std::ranges::upper_bound(ends_, step, {}, [](const auto& end) { return end.first; });
  return kinds_[run->second];
}

std::uint32_t StepListing::CommandOf(std::size_t step) const { return KindOf(step).number; }

ParameterPairs StepListing::ParametersOf(std::size_t step, std::string_view label) const {
  const std::vector<std::string>& names = KindOf(step).names;
  const auto kept = values_.find(step);
  const auto values = kept != values_.end() ? kept->second : SplitLabel(label, names);
  ParameterPairs pairs;
  for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) {
    pairs.emplace_back(names[i], values[i]);
  }
  return pairs;
}

Status ExtendListing(Journal& journal, const Job& more, std::span<const Identity> identities,
                     std::size_t steps_before) {
  ASSIGN_OR_RETURN(auto listing, StepListing::Read(journal, steps_before));
  if (!listing) return {};
  std::map<Identity, std::size_t> indices;
  for (std::size_t i = 0; i < identities.size(); ++i) indices.emplace(identities[i], i);
  ASSIGN_OR_RETURN(const auto steps, journal.List());
  for (std::size_t i = steps_before; i < steps.size(); ++i) {
    const auto found = indices.find(steps[i].identity);
    if (found == indices.end()) return {};
    listing->Add(more, found->second);
  }
  return listing->WriteTo(journal);
}

}  // namespace reveza::jobs
