#include "runner/definition/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/nearest.h"
#include "runner/definition/dependencies.h"
#include "runner/definition/document.h"
#include "runner/definition/expander.h"
#include "runner/definition/job_entry.h"
#include "runner/definition/parameters.h"
#include "runner/definition/split_words.h"
#include "runner/definition/template.h"
#include "runner/text_file.h"

namespace reveza::runner {
namespace {

using Kind = Node::Kind;

// More would fill the memory: a thousand steps that wait for a thousand others are a million.
constexpr std::size_t kMostWaits = 10'000'000;

class JobReader {
 public:
  JobReader(std::string_view name, const std::filesystem::path& folder)
      : name_(name), folder_(folder), keys_(name, folder) {}

  Result<Job> Read(const Node& document) {
    JobEntry common;
    common.command.folder = folder_;
    const Member* steps = nullptr;
    for (const Member& member : document.members) {
      if (member.key == "steps" || member.key == "commands") {
        if (steps != nullptr)
          return Wrong(member.place, "'steps' and 'commands' are the same; write one");
        steps = &member;
      } else if (auto read = keys_.ReadKey(common, member, false); !read) {
        return std::unexpected(read.error());
      }
    }
    job_.name = std::exchange(common.name, {});
    if (auto entries = ReadEntries(std::move(common), steps); !entries) {
      return std::unexpected(entries.error());
    }
    for (JobEntry& entry : entries_) {
      if (auto made = MakeSteps(entry); !made) return std::unexpected(made.error());
    }
    if (auto waits = MakeWaits(); !waits) return std::unexpected(waits.error());
    return std::move(job_);
  }

 private:
  std::unexpected<Error> Wrong(const Place& place, std::string_view what) const {
    return WrongAt(name_, place, what);
  }

  Status ReadEntries(JobEntry common, const Member* steps) {
    if (steps == nullptr) {
      if (common.run == nullptr) {
        return Wrong({}, "run what? write: run = \"./simulate {seed}\", or [[steps]] with run");
      }
      entries_.push_back(std::move(common));
      return {};
    }
    if (common.run != nullptr) return Wrong(common.run->place, "either run or steps, not both");
    if (common.parameters != nullptr || common.linked != nullptr) {
      const Node& node = common.parameters != nullptr ? *common.parameters : *common.linked;
      return Wrong(node.place, "parameters go with a run; write them in [[steps]]");
    }
    if (steps->value.kind != Kind::kList || steps->value.items.empty()) {
      return Wrong(steps->value.place,
                   fmt::format("{0} is a list of tables; write [[{0}]]", steps->key));
    }
    for (const Node& item : steps->value.items) {
      JobEntry entry = common;
      entry.place = item.place;
      if (item.kind != Kind::kTable) {
        return Wrong(item.place, fmt::format("{0} is a list of tables; write [[{0}]]", steps->key));
      }
      for (const Member& member : item.members) {
        auto read = keys_.ReadKey(entry, member, true);
        if (!read) return read;
      }
      if (entry.run == nullptr)
        return Wrong(item.place, "a step without run; write: run = \"./simulate\"");
      const auto same = std::ranges::find(entries_, entry.name, &JobEntry::name);
      if (!entry.name.empty() && same != entries_.end()) {
        return Wrong(item.place, fmt::format("two steps are called '{}'", entry.name));
      }
      entries_.push_back(std::move(entry));
    }
    return {};
  }

  Status ReadRun(JobEntry& entry) const {
    Command& command = entry.command;
    const Node& run = *entry.run;
    if (run.kind == Kind::kList) {
      for (const Node& item : run.items) {
        if (!IsSingle(item)) return Wrong(item.place, "a word of a command is a text or a number");
        command.arguments.push_back(item.text);
      }
      if (command.shell && run.items.size() != 1)
        return Wrong(run.place, "a line for the shell is one text");
    } else if (run.kind != Kind::kText) {
      return Wrong(run.place,
                   "run is a text or a list of words: run = [\"./simulate\", \"{seed}\"]");
    } else if (command.shell) {
      command.arguments = {run.text};
    } else {
      auto words = SplitWords(run.text);
      if (!words) return Wrong(run.place, words.error().message);
      command.arguments = *std::move(words);
    }
    if (command.arguments.empty() || command.arguments.front().empty()) {
      return Wrong(run.place, "run what? the command is empty");
    }
    if (entry.chain == 0) return {};
    if (!command.cycles) return Wrong(entry.chain_place, "chain needs cycles");
    command.cycles->chain = entry.chain;
    return {};
  }

  Result<Column> ReadColumn(const Member& member) const {
    Column column{.name = member.key, .values = {}};
    if (auto named = CheckParameterName(member.key); !named) {
      return Wrong(member.place, named.error().message);
    }
    const Node& node = member.value;
    if (node.kind == Kind::kList) {
      for (const Node& item : node.items) {
        if (!IsSingle(item)) return Wrong(item.place, "a value is a text, a number, true or false");
        column.values.push_back(item.text);
      }
      if (column.values.empty())
        return Wrong(node.place, fmt::format("{} has no values", column.name));
      return column;
    }
    if (!IsSingle(node)) {
      return Wrong(node.place,
                   "values are a list [1, 2], a range \"1..500\" or a file \"@list.txt\"");
    }
    auto values = node.kind == Kind::kText ? ValuesOf(node.text, folder_)
                                           : std::vector<std::string>{node.text};
    if (!values) return Wrong(node.place, values.error().message);
    column.values = *std::move(values);
    return column;
  }

  // Which axis each name is linked to: the groups of `linked`.
  Result<std::vector<std::vector<std::string>>> ReadLinked(const Node* node) const {
    std::vector<std::vector<std::string>> groups;
    if (node == nullptr) return groups;
    const auto wrong = [&](const Place& place) {
      return Wrong(place,
                   "linked is a list of names that go together: linked = [\"seed\", \"name\"]");
    };
    if (node->kind != Kind::kList || node->items.empty()) return wrong(node->place);
    const bool several = node->items.front().kind == Kind::kList;
    const std::vector<Node> one = {*node};
    for (const Node& group : several ? node->items : one) {
      if (group.kind != Kind::kList) return wrong(group.place);
      auto& names = groups.emplace_back();
      for (const Node& name : group.items) {
        if (name.kind != Kind::kText) return wrong(name.place);
        names.push_back(name.text);
      }
    }
    return groups;
  }

  Result<std::vector<Axis>> ReadAxes(const JobEntry& entry) const {
    std::vector<Axis> axes;
    const auto groups = ReadLinked(entry.linked);
    if (!groups) return std::unexpected(groups.error());
    std::vector<std::string_view> names;
    std::vector<std::optional<std::size_t>> axis_of(groups->size());
    if (entry.parameters != nullptr && entry.parameters->kind != Kind::kTable) {
      return Wrong(entry.parameters->place,
                   "parameters is a table: parameters = { seed = \"1..500\" }");
    }
    const auto members =
        entry.parameters == nullptr ? std::span<const Member>() : entry.parameters->members;
    for (const Member& member : members) {
      auto column = ReadColumn(member);
      if (!column) return std::unexpected(column.error());
      names.push_back(member.key);
      const auto group = std::ranges::find_if(*groups, [&](const auto& all) {
        return std::ranges::find(all, member.key) != all.end();
      });
      if (group == groups->end()) {
        axes.push_back({*std::move(column)});
        continue;
      }
      auto& axis = axis_of[static_cast<std::size_t>(group - groups->begin())];
      if (axis) {
        auto linked = Link(axes[*axis], *std::move(column));
        if (!linked) return Wrong(member.value.place, linked.error().message);
      } else {
        axis = axes.size();
        axes.push_back({*std::move(column)});
      }
    }
    for (const auto& group : *groups) {
      for (const std::string& name : group) {
        if (std::ranges::find(names, name) != names.end()) continue;
        return Wrong(entry.linked->place, fmt::format("linked: there is no parameter '{}'{}", name,
                                                      DidYouMean(name, names)));
      }
    }
    return axes;
  }

  Status MakeSteps(JobEntry& entry) {
    if (auto run = ReadRun(entry); !run) return run;
    const auto axes = ReadAxes(entry);
    if (!axes) return std::unexpected(axes.error());
    auto rows = Grid(*axes);
    if (!rows) return Wrong(entry.parameters->place, rows.error().message);
    if (job_.steps.size() + rows->size() > kMostSteps) {
      return Wrong(entry.run->place, fmt::format("a job has at most {} steps", kMostSteps));
    }
    Step first;
    first.parameters = rows->front();
    if (auto expanded = Expand(entry.command, first, {}); !expanded) {
      return Wrong(entry.run->place, expanded.error().message);
    }
    entry.first_step = static_cast<std::uint32_t>(job_.steps.size());
    entry.steps = static_cast<std::uint32_t>(rows->size());
    const auto command = static_cast<std::uint32_t>(job_.commands.size());
    job_.commands.push_back(entry.command);
    for (auto& row : *rows) {
      job_.steps.push_back({.command = command, .parameters = std::move(row), .after = {}});
    }
    return {};
  }

  Status FindAfter(JobEntry& entry) const {
    if (entry.after == nullptr) return {};
    const auto names = keys_.Texts({.key = "after", .place = entry.place, .value = *entry.after});
    if (!names) return std::unexpected(names.error());
    std::vector<std::string_view> known;
    for (const JobEntry& other : entries_) {
      if (!other.name.empty()) known.push_back(other.name);
    }
    for (const std::string& name : *names) {
      const auto found = std::ranges::find(entries_, name, &JobEntry::name);
      if (name.empty() || found == entries_.end()) {
        return Wrong(entry.after->place,
                     fmt::format("after: no step is called '{}'{}", name, DidYouMean(name, known)));
      }
      entry.waits_for.push_back(static_cast<std::uint32_t>(found - entries_.begin()));
    }
    std::ranges::sort(entry.waits_for);
    const auto repeated = std::ranges::unique(entry.waits_for);
    entry.waits_for.erase(repeated.begin(), repeated.end());
    return {};
  }

  Status MakeWaits() {
    for (JobEntry& entry : entries_) {
      if (auto found = FindAfter(entry); !found) return found;
    }
    const auto circle = FindCircle(
        static_cast<std::uint32_t>(entries_.size()),
        [&](std::uint32_t i) { return std::span<const std::uint32_t>(entries_[i].waits_for); });
    if (!circle.empty()) {
      std::string path;
      for (const std::uint32_t i : circle)
        path += (path.empty() ? "" : " waits for ") + entries_[i].name;
      return Wrong(entries_[circle.front()].after->place,
                   fmt::format("steps wait for each other: {}; take one of these away", path));
    }
    std::size_t waits = 0;
    for (const JobEntry& entry : entries_) {
      std::vector<std::uint32_t> after;
      for (const std::uint32_t other : entry.waits_for) {
        for (std::uint32_t i = 0; i < entries_[other].steps; ++i)
          after.push_back(entries_[other].first_step + i);
      }
      waits += after.size() * entry.steps;
      if (waits > kMostWaits) {
        return Wrong(
            entry.after->place,
            "too many steps wait for too many others; put one step between them (run = \"true\")");
      }
      for (std::uint32_t i = 0; i < entry.steps; ++i)
        job_.steps[entry.first_step + i].after = after;
    }
    return {};
  }

  std::string_view name_;
  const std::filesystem::path& folder_;
  JobEntryReader keys_;
  std::vector<JobEntry> entries_;
  Job job_;
};

}  // namespace

Result<Job> ParseJob(std::string_view text, JobFormat format, std::string_view name,
                     const std::filesystem::path& folder) {
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    const auto line = static_cast<std::size_t>(std::ranges::count(text.substr(0, zero), '\n')) + 1;
    return WrongAt(name, {.line = line, .column = 1}, "a zero byte; this is no text");
  }
  const auto document = format == JobFormat::kJson ? ParseJson(text, name) : ParseToml(text, name);
  if (!document) return std::unexpected(document.error());
  return JobReader(name, folder).Read(*document);
}

Result<Job> ReadJobFile(const std::filesystem::path& path) {
  const auto text = ReadTextFile(path);
  if (!text) return std::unexpected(text.error());
  const auto format = path.extension() == ".json" ? JobFormat::kJson : JobFormat::kToml;
  return ParseJob(*text, format, path.string(), path.parent_path());
}

}  // namespace reveza::runner
