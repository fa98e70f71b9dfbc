#include "reveza/jobs/definition/job_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/base/nearest.h"
#include "common/base/parse_number.h"
#include "common/base/units.h"

namespace reveza::jobs {
namespace {

using Kind = Node::Kind;

Result<std::string> ReadString(const JobSource& source, const Member& member) {
  if (member.value.kind == Kind::kString) return member.value.text;
  return ErrorAt(source.name, member.value.location,
                 fmt::format("{} must be a string in quotes", member.key));
}

Status ReadCount(const JobSource& source, const Member& member, std::uint64_t& count) {
  const auto number = ParseNumber<std::uint64_t>(member.value.text);
  if (member.value.kind != Kind::kInteger || number.value_or(0) < 1) {
    return ErrorAt(source.name, member.value.location,
                   fmt::format("{} must be an integer of at least 1", member.key));
  }
  count = *number;
  return {};
}

// Reads a string with a unit.
template <typename Value>
Status ReadQuantity(const JobSource& source, const Member& member,
                    Result<Value> (*parse)(std::string_view), std::string_view example,
                    std::optional<Value>& target) {
  if (member.value.kind != Kind::kString) {
    return ErrorAt(source.name, member.value.location,
                   fmt::format("{0} needs a unit; write {0} = \"{1}\"", member.key, example));
  }
  const auto value = parse(member.value.text);
  if (!value) return ErrorAt(source.name, member.value.location, value.error().message);
  target = *value;
  return {};
}

Status ReadEnvironment(const JobSource& source, const Member& member, JobEntry& entry) {
  auto& environment = entry.command.environment;
  if (member.value.kind != Kind::kTable) {
    return ErrorAt(source.name, member.value.location,
                   "environment must be a table of names and values");
  }
  for (const auto& [name, location, value] : member.value.members) {
    if (!IsScalar(value)) {
      return ErrorAt(source.name, value.location,
                     fmt::format("{} must be a string, number or boolean", name));
    }
    if (name.empty() || name.contains('=')) {
      return ErrorAt(source.name, location, fmt::format("'{}' is not a valid variable name", name));
    }
    const auto same =
        std::ranges::find(environment, name, &std::pair<std::string, std::string>::first);
    if (same == environment.end()) {
      environment.emplace_back(name, value.text);
    } else {
      same->second = value.text;
    }
  }
  return {};
}

Status ReadCpus(const JobSource& source, const Member& member, JobEntry& entry) {
  const bool is_number = member.value.kind == Kind::kInteger || member.value.kind == Kind::kFloat;
  const auto number = ParseNumber<double>(member.value.text);
  if (!is_number || !number || !std::isfinite(*number) || *number <= 0) {
    return ErrorAt(source.name, member.value.location,
                   "cpus must be a number above 0, such as 2 or 0.5");
  }
  entry.command.claim.cpus = number;
  return {};
}

Status ReadPriority(const JobSource& source, const Member& member, JobEntry& entry) {
  constexpr int kMax = 1'000'000;
  const auto number = ParseNumber<int>(member.value.text);
  if (member.value.kind != Kind::kInteger || !number || *number < -kMax || *number > kMax) {
    return ErrorAt(source.name, member.value.location,
                   "priority must be an integer from -1000000 to 1000000");
  }
  entry.command.priority = *number;
  return {};
}

Status ReadTimeLimit(const JobSource& source, const Member& member, JobEntry& entry) {
  auto& limit = entry.command.time_limit;
  RETURN_IF_ERROR(ReadQuantity(source, member, &ParseDuration, "90s", limit));
  if (limit->count() > 0) return {};
  return ErrorAt(source.name, member.value.location, "time_limit must be above 0");
}

struct Key {
  std::string_view name;
  Status (*read)(const JobSource& source, const Member& member, JobEntry& entry) = nullptr;
  const Node* JobEntry::* node = nullptr;  // or the field that holds the node for later parsing
};

constexpr std::array<Key, 17> kKeys = {{
    {"name",
     [](const JobSource& source, const Member& member, JobEntry& entry) -> Status {
       ASSIGN_OR_RETURN(entry.name, ReadString(source, member));
       return {};
     }},
    {"run", nullptr, &JobEntry::run},
    {"parameters", nullptr, &JobEntry::parameters},
    {"linked", nullptr, &JobEntry::linked},
    {"after", nullptr, &JobEntry::after},
    {"environment", ReadEnvironment},
    {"identity_environment",
     [](const JobSource& source, const Member& member, JobEntry& entry) -> Status {
       ASSIGN_OR_RETURN(entry.command.identity_variables, ReadStrings(source, member));
       return {};
     }},
    {"folder",
     [](const JobSource& source, const Member& member, JobEntry& entry) -> Status {
       ASSIGN_OR_RETURN(const auto folder, ReadString(source, member));
       entry.command.folder = (source.folder / folder).lexically_normal();
       return {};
     }},
    {"time_limit", ReadTimeLimit},
    {"priority", ReadPriority},
    {"cpus", ReadCpus},
    {"memory",
     [](const JobSource& source, const Member& member, JobEntry& entry) {
       entry.command.claim.memory.reset();
       entry.command.memory_template.clear();
       if (member.value.kind == Kind::kString && member.value.text.contains('{')) {
         entry.command.memory_template = member.value.text;
         return Status{};
       }
       return ReadQuantity(source, member, &ParseBytes, "2GiB", entry.command.claim.memory);
     }},
    {"gpu_memory",
     [](const JobSource& source, const Member& member, JobEntry& entry) {
       return ReadQuantity(source, member, &ParseBytes, "2GiB", entry.command.claim.gpu_memory);
     }},
    {"inputs",
     [](const JobSource& source, const Member& member, JobEntry& entry) -> Status {
       ASSIGN_OR_RETURN(entry.command.inputs, ReadStrings(source, member));
       return {};
     }},
    {"cycles",
     [](const JobSource& source, const Member& member, JobEntry& entry) {
       return ReadCount(source, member, entry.command.cycles.emplace().count);
     }},
    {"chain",
     [](const JobSource& source, const Member& member, JobEntry& entry) {
       entry.chain_location = member.location;
       return ReadCount(source, member, entry.chain);
     }},
    {"shell",
     [](const JobSource& source, const Member& member, JobEntry& entry) -> Status {
       entry.command.shell = member.value.text == "true";
       if (member.value.kind == Kind::kBoolean) return {};
       return ErrorAt(source.name, member.value.location, "shell must be true or false");
     }},
}};

}  // namespace

bool IsScalar(const Node& node) {
  return node.kind == Kind::kString || node.kind == Kind::kInteger || node.kind == Kind::kFloat ||
         node.kind == Kind::kBoolean;
}

Result<std::vector<std::string>> ReadStrings(const JobSource& source, const Member& member) {
  if (member.value.kind == Kind::kString) return std::vector<std::string>{member.value.text};
  std::vector<std::string> texts;
  const Node* wrong = member.value.kind == Kind::kArray ? nullptr : &member.value;
  for (const Node& item : member.value.items) {
    if (item.kind != Kind::kString && wrong == nullptr) wrong = &item;
    texts.push_back(item.text);
  }
  if (wrong == nullptr) return texts;
  return ErrorAt(
      source.name, wrong->location,
      fmt::format("{0} must be a string or an array of strings: {0} = [\"...\"]", member.key));
}

// Top-level keys are defaults for all entries.
Status ReadJobKey(const JobSource& source, const Member& member, bool in_steps, JobEntry& entry) {
  const auto* known = std::ranges::find(kKeys, member.key, &Key::name);
  if (known == kKeys.end()) {
    std::vector<std::string_view> names;
    for (const Key& key : kKeys) names.push_back(key.name);
    if (!in_steps) names.insert(names.end(), {"steps", "commands"});
    const std::string hint = DidYouMean(member.key, names);
    return ErrorAt(source.name, member.location,
                   fmt::format("unknown key '{}'{}", member.key, hint));
  }
  if (known->node == nullptr) return known->read(source, member, entry);
  if (known->node == &JobEntry::after && !in_steps) {
    return ErrorAt(source.name, member.location, "'after' is only valid in [[steps]]");
  }
  entry.*known->node = &member.value;
  return {};
}

}  // namespace reveza::jobs
