#include "runner/definition/job_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/nearest.h"
#include "base/units.h"

namespace reveza::runner {
namespace {

using Kind = Node::Kind;

}  // namespace

struct JobEntryReader::Key {
  std::string_view name;
  Status (JobEntryReader::*read)(JobEntry&, const Member&) const = nullptr;
  const Node* JobEntry::* node = nullptr;  // or where it is kept, to be read later
};

constexpr std::array<JobEntryReader::Key, 17> JobEntryReader::kKeys = {{
    {"name", &JobEntryReader::Name},
    {"run", nullptr, &JobEntry::run},
    {"parameters", nullptr, &JobEntry::parameters},
    {"linked", nullptr, &JobEntry::linked},
    {"after", nullptr, &JobEntry::after},
    {"environment", &JobEntryReader::Environment},
    {"identity_environment", &JobEntryReader::Variables},
    {"folder", &JobEntryReader::Folder},
    {"time_limit", &JobEntryReader::TimeLimit},
    {"priority", &JobEntryReader::Priority},
    {"cpus", &JobEntryReader::Cpus},
    {"memory", &JobEntryReader::Memory},
    {"gpu_memory", &JobEntryReader::GpuMemory},
    {"inputs", &JobEntryReader::Inputs},
    {"cycles", &JobEntryReader::CycleCount},
    {"chain", &JobEntryReader::Chain},
    {"shell", &JobEntryReader::Shell},
}};

bool IsSingle(const Node& node) {
  return node.kind == Kind::kText || node.kind == Kind::kWhole || node.kind == Kind::kNumber ||
         node.kind == Kind::kBoolean;
}

std::unexpected<Error> JobEntryReader::UnknownKey(const Member& member, bool in_steps) const {
  std::vector<std::string_view> known;
  for (const Key& key : kKeys) known.push_back(key.name);
  if (!in_steps) known.insert(known.end(), {"steps", "commands"});
  const auto nearest = Nearest(member.key, known);
  return WrongAt(name_, member.place,
                 nearest ? fmt::format("unknown key '{}'; did you mean '{}'?", member.key, *nearest)
                         : fmt::format("unknown key '{}'", member.key));
}

Result<std::string> JobEntryReader::Text(const Member& member) const {
  if (member.value.kind == Kind::kText) return member.value.text;
  return WrongAt(name_, member.value.place,
                 fmt::format("{} is a text; write it in quotes", member.key));
}

// A text, or a list of them.
Result<std::vector<std::string>> JobEntryReader::Texts(const Member& member) const {
  if (member.value.kind == Kind::kText) return std::vector<std::string>{member.value.text};
  std::vector<std::string> texts;
  const Node* wrong = member.value.kind == Kind::kList ? nullptr : &member.value;
  for (const Node& item : member.value.items) {
    if (item.kind != Kind::kText && wrong == nullptr) wrong = &item;
    texts.push_back(item.text);
  }
  if (wrong == nullptr) return texts;
  return WrongAt(name_, wrong->place,
                 fmt::format("{0} is a text or a list of them: {0} = [\"...\"]", member.key));
}

Result<std::uint64_t> JobEntryReader::Whole(const Member& member, std::uint64_t least) const {
  const std::string& text = member.value.text;
  std::uint64_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole =
      member.value.kind == Kind::kWhole && error == std::errc() && at == text.data() + text.size();
  if (whole && number >= least) return number;
  return WrongAt(name_, member.value.place,
                 fmt::format("{} is a whole number from {}", member.key, least));
}

// What a text means: a size, a time.
template <typename Value>
Status JobEntryReader::Measure(const Member& member, Result<Value> (*parse)(std::string_view),
                               std::optional<Value>& target, std::string_view example) const {
  if (member.value.kind != Kind::kText) {
    return WrongAt(name_, member.value.place,
                   fmt::format("{0} has a unit; write {0} = \"{1}\"", member.key, example));
  }
  const auto value = parse(member.value.text);
  if (!value) return WrongAt(name_, member.value.place, value.error().message);
  target = *value;
  return {};
}

Status JobEntryReader::Cpus(JobEntry& entry, const Member& member) const {
  Command& command = entry.command;
  const std::string& text = member.value.text;
  double number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number =
      (member.value.kind == Kind::kWhole || member.value.kind == Kind::kNumber) &&
      error == std::errc() && at == text.data() + text.size();
  if (!is_number || !std::isfinite(number) || number <= 0) {
    return WrongAt(name_, member.value.place, "cpus is a number above 0, such as 2 or 0.5");
  }
  command.claim.cpus = number;
  return {};
}

Status JobEntryReader::Environment(JobEntry& entry, const Member& member) const {
  Command& command = entry.command;
  if (member.value.kind != Kind::kTable) {
    return WrongAt(name_, member.value.place, "environment is a table of names and values");
  }
  for (const Member& variable : member.value.members) {
    if (!IsSingle(variable.value)) {
      return WrongAt(name_, variable.value.place,
                     fmt::format("{} has one value; write it in quotes", variable.key));
    }
    if (variable.key.empty() || variable.key.contains('=')) {
      return WrongAt(name_, variable.place,
                     fmt::format("'{}' cannot name a variable", variable.key));
    }
    const auto same = std::ranges::find(command.environment, variable.key,
                                        &std::pair<std::string, std::string>::first);
    if (same == command.environment.end()) {
      command.environment.emplace_back(variable.key, variable.value.text);
    } else {
      same->second = variable.value.text;
    }
  }
  return {};
}

// What is said for a whole file holds for each entry that does not say otherwise.
Status JobEntryReader::ReadKey(JobEntry& entry, const Member& member, bool in_steps) const {
  const auto known = std::ranges::find(kKeys, member.key, &Key::name);
  if (known == kKeys.end()) return UnknownKey(member, in_steps);
  if (known->node == nullptr) return (this->*known->read)(entry, member);
  if (known->node == &JobEntry::after && !in_steps) {
    return WrongAt(name_, member.place,
                   "'after' goes with one of several steps; write it in [[steps]]");
  }
  entry.*known->node = &member.value;
  return {};
}

Status JobEntryReader::Name(JobEntry& entry, const Member& member) const {
  return Assign(Text(member), entry.name);
}

Status JobEntryReader::Variables(JobEntry& entry, const Member& member) const {
  return Assign(Texts(member), entry.command.identity_variables);
}

Status JobEntryReader::Inputs(JobEntry& entry, const Member& member) const {
  return Assign(Texts(member), entry.command.inputs);
}

Status JobEntryReader::Memory(JobEntry& entry, const Member& member) const {
  return Measure(member, &ParseBytes, entry.command.claim.memory, "2GiB");
}

Status JobEntryReader::GpuMemory(JobEntry& entry, const Member& member) const {
  return Measure(member, &ParseBytes, entry.command.claim.gpu_memory, "2GiB");
}

Status JobEntryReader::CycleCount(JobEntry& entry, const Member& member) const {
  return Assign(Whole(member, 1), entry.command.cycles.emplace().count);
}

Status JobEntryReader::Chain(JobEntry& entry, const Member& member) const {
  entry.chain_place = member.place;
  return Assign(Whole(member, 1), entry.chain);
}

Status JobEntryReader::Shell(JobEntry& entry, const Member& member) const {
  if (member.value.kind != Kind::kBoolean) {
    return WrongAt(name_, member.value.place, "shell is true or false");
  }
  entry.command.shell = member.value.text == "true";
  return {};
}

template <typename Value>
Status JobEntryReader::Assign(Result<Value> value, Value& target) {
  if (!value) return std::unexpected(value.error());
  target = *std::move(value);
  return {};
}

Status JobEntryReader::Folder(JobEntry& entry, const Member& member) const {
  Command& command = entry.command;
  const auto folder = Text(member);
  if (!folder) return std::unexpected(folder.error());
  command.folder = (folder_ / *folder).lexically_normal();
  return {};
}

Status JobEntryReader::TimeLimit(JobEntry& entry, const Member& member) const {
  Command& command = entry.command;
  if (auto read = Measure(member, &ParseDuration, command.time_limit, "90s"); !read) return read;
  if (command.time_limit.value_or(std::chrono::nanoseconds(0)).count() > 0) return {};
  return WrongAt(name_, member.value.place, "time_limit is more than 0");
}

Status JobEntryReader::Priority(JobEntry& entry, const Member& member) const {
  Command& command = entry.command;
  const std::string& text = member.value.text;
  const auto [at, error] =
      std::from_chars(text.data(), text.data() + text.size(), command.priority);
  if (member.value.kind == Kind::kWhole && error == std::errc() &&
      std::abs(std::int64_t{command.priority}) <= 1'000'000)
    return {};
  return WrongAt(name_, member.value.place, "priority is a whole number; larger goes first");
}

}  // namespace reveza::runner
