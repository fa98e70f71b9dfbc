#include "reveza/jobs/definition/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/nearest.h"
#include "common/base/read_file.h"
#include "common/settings/document.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/job_entry.h"
#include "reveza/jobs/definition/parameters.h"
#include "reveza/jobs/definition/shell_quotes.h"
#include "reveza/jobs/definition/template.h"

namespace reveza::jobs {
namespace {

using Kind = Node::Kind;

// Bounds memory: a thousand steps that depend on a thousand others are a million dependencies.
constexpr std::size_t kMaxDependencies = 10'000'000;

class JobReader {
 public:
  JobReader(std::string_view name, const std::filesystem::path& folder) : source_{name, folder} {}

  Result<Job> Read(const Node& document) {
    JobEntry common;
    common.command.folder = source_.folder;
    const Member* steps = nullptr;
    for (const Member& member : document.members) {
      if (member.key == "steps" || member.key == "commands") {
        if (steps != nullptr)
          return Wrong(member.location, "'steps' and 'commands' are synonyms; use one of them");
        steps = &member;
      } else
        RETURN_IF_ERROR(ReadJobKey(source_, member, false, common));
    }
    job_.name = std::exchange(common.name, {});
    RETURN_IF_ERROR(ReadEntries(std::move(common), steps));
    for (JobEntry& entry : entries_) RETURN_IF_ERROR(MakeSteps(entry));
    RETURN_IF_ERROR(ResolveDependencies());
    return std::move(job_);
  }

 private:
  std::unexpected<Error> Wrong(const SourceLocation& location, std::string_view what) const {
    return ErrorAt(source_.name, location, what);
  }

  Status ReadEntries(JobEntry common, const Member* steps) {
    if (steps == nullptr) {
      if (common.run == nullptr) {
        return Wrong({}, "missing run; write run = \"./simulate {seed}\", or [[steps]] with run");
      }
      entries_.push_back(std::move(common));
      return {};
    }
    if (common.run != nullptr)
      return Wrong(common.run->location, "run and steps exclude each other");
    if (common.parameters != nullptr || common.linked != nullptr) {
      const Node& node = common.parameters != nullptr ? *common.parameters : *common.linked;
      return Wrong(node.location, "parameters need a run; move them into [[steps]]");
    }
    if (steps->value.kind != Kind::kArray || steps->value.items.empty()) {
      return Wrong(steps->value.location,
                   fmt::format("{0} must be an array of tables; write [[{0}]]", steps->key));
    }
    for (const Node& item : steps->value.items) {
      JobEntry entry = common;
      entry.location = item.location;
      if (item.kind != Kind::kTable) {
        return Wrong(item.location,
                     fmt::format("{0} must be an array of tables; write [[{0}]]", steps->key));
      }
      for (const Member& member : item.members) {
        RETURN_IF_ERROR(ReadJobKey(source_, member, true, entry));
      }
      if (entry.run == nullptr)
        return Wrong(item.location, "missing run; write run = \"./simulate\"");
      const auto same = std::ranges::find(entries_, entry.name, &JobEntry::name);
      if (!entry.name.empty() && same != entries_.end()) {
        return Wrong(item.location, fmt::format("duplicate step name '{}'", entry.name));
      }
      entries_.push_back(std::move(entry));
    }
    return {};
  }

  Status ReadRun(JobEntry& entry) const {
    Command& command = entry.command;
    const Node& run = *entry.run;
    if (run.kind == Kind::kArray) {
      for (const Node& item : run.items) {
        if (!IsScalar(item))
          return Wrong(item.location, "a command argument must be a string, number or boolean");
        command.arguments.push_back(item.text);
      }
      if (command.shell && run.items.size() != 1)
        return Wrong(run.location, "a shell command is one string");
    } else if (run.kind != Kind::kString) {
      return Wrong(run.location,
                   "run must be a string or an array of words: run = [\"./simulate\", \"{seed}\"]");
    } else if (command.shell) {
      command.arguments = {run.text};
    } else {
      auto words = SplitWords(run.text);
      if (!words) return Wrong(run.location, words.error().message);
      command.arguments = *std::move(words);
    }
    if (command.arguments.empty() || command.arguments.front().empty()) {
      return Wrong(run.location, "the command is empty");
    }
    if (entry.chain == 0) return {};
    if (!command.cycles) return Wrong(entry.chain_location, "chain requires cycles");
    command.cycles->chain = entry.chain;
    return {};
  }

  // `sampled` counts the parameters of the command that are samples of a range.
  Result<Column> ReadColumn(const Member& member, std::size_t& sampled) const {
    Column column{.name = member.key, .values = {}};
    if (auto named = CheckParameterName(member.key); !named) {
      return Wrong(member.location, named.error().message);
    }
    const Node& node = member.value;
    if (node.kind == Kind::kArray) {
      for (const Node& item : node.items) {
        if (!IsScalar(item))
          return Wrong(item.location, "a value must be a string, number or boolean");
        column.values.push_back(item.text);
      }
      if (column.values.empty())
        return Wrong(node.location, fmt::format("{} has no values", column.name));
      return column;
    }
    if (!IsScalar(node)) {
      return Wrong(node.location,
                   "values must be an array [1, 2], a range \"1..500\", a file \"@list.txt\" or "
                   "samples \"sobol 0..1 64\"");
    }
    auto values = node.kind == Kind::kString ? ExpandText(node.text, source_.folder, sampled)
                                             : std::vector<std::string>{node.text};
    if (!values) return Wrong(node.location, values.error().message);
    column.values = *std::move(values);
    return column;
  }

  // Returns the groups of parameter names in `linked`.
  Result<std::vector<std::vector<std::string>>> ReadLinked(const Node* node) const {
    std::vector<std::vector<std::string>> groups;
    if (node == nullptr) return groups;
    const auto wrong = [&](const SourceLocation& location) {
      return Wrong(location,
                   "linked must be an array of parameter names: linked = [\"seed\", \"name\"]");
    };
    if (node->kind != Kind::kArray || node->items.empty()) return wrong(node->location);
    const bool several = node->items.front().kind == Kind::kArray;
    const std::vector<Node> one = {*node};
    for (const Node& group : several ? node->items : one) {
      if (group.kind != Kind::kArray) return wrong(group.location);
      auto& names = groups.emplace_back();
      for (const Node& name : group.items) {
        if (name.kind != Kind::kString) return wrong(name.location);
        names.push_back(name.text);
      }
    }
    return groups;
  }

  Result<std::vector<Axis>> ReadAxes(const JobEntry& entry) const {
    std::vector<Axis> axes;
    ASSIGN_OR_RETURN(const auto groups, ReadLinked(entry.linked));
    std::vector<std::string_view> names;
    std::vector<std::optional<std::size_t>> axis_of(groups.size());
    std::size_t sampled = 0;
    if (entry.parameters != nullptr && entry.parameters->kind != Kind::kTable) {
      return Wrong(entry.parameters->location,
                   "parameters must be a table: parameters = { seed = \"1..500\" }");
    }
    const auto members =
        entry.parameters == nullptr ? std::span<const Member>() : entry.parameters->members;
    for (const Member& member : members) {
      ASSIGN_OR_RETURN(auto column, ReadColumn(member, sampled));
      names.push_back(member.key);
      const auto group = std::ranges::find_if(
          groups, [&](const auto& all) { return std::ranges::find(all, member.key) != all.end(); });
      if (group == groups.end()) {
        axes.push_back({std::move(column)});
        continue;
      }
      auto& axis = axis_of[static_cast<std::size_t>(group - groups.begin())];
      if (axis) {
        auto linked = Link(axes[*axis], std::move(column));
        if (!linked) return Wrong(member.value.location, linked.error().message);
      } else {
        axis = axes.size();
        axes.push_back({std::move(column)});
      }
    }
    for (const auto& group : groups) {
      for (const std::string& name : group) {
        if (std::ranges::find(names, name) != names.end()) continue;
        return Wrong(entry.linked->location, fmt::format("linked: unknown parameter '{}'{}", name,
                                                         DidYouMean(name, names)));
      }
    }
    return axes;
  }

  Status MakeSteps(JobEntry& entry) {
    RETURN_IF_ERROR(ReadRun(entry));
    ASSIGN_OR_RETURN(const auto axes, ReadAxes(entry));
    auto grid = Grid(axes);
    if (!grid) return Wrong(entry.parameters->location, grid.error().message);
    const std::size_t rows = grid->rows();
    if (job_.steps.size() + rows > kMaxSteps) {
      return Wrong(entry.run->location, fmt::format("a job has at most {} steps", kMaxSteps));
    }
    const auto table = std::make_shared<const ParameterTable>(*std::move(grid));
    Step first;
    first.parameters = {table, 0};
    if (auto expanded = Expand(entry.command, first, {}); !expanded) {
      return Wrong(entry.run->location, expanded.error().message);
    }
    entry.first_step = static_cast<std::uint32_t>(job_.steps.size());
    entry.steps = static_cast<std::uint32_t>(rows);
    const auto command = static_cast<std::uint32_t>(job_.commands.size());
    job_.commands.push_back(entry.command);
    for (std::size_t row = 0; row < rows; ++row) {
      job_.steps.push_back({.parameters = {table, row}, .after = {}, .command = command});
    }
    return {};
  }

  Status ReadAfter(JobEntry& entry) const {
    if (entry.after == nullptr) return {};
    ASSIGN_OR_RETURN(
        const auto names,
        ReadStrings(source_, {.key = "after", .location = entry.location, .value = *entry.after}));
    std::vector<std::string_view> known;
    for (const JobEntry& other : entries_) {
      if (!other.name.empty()) known.push_back(other.name);
    }
    for (const std::string& name : names) {
      const auto found = std::ranges::find(entries_, name, &JobEntry::name);
      if (name.empty() || found == entries_.end()) {
        return Wrong(entry.after->location,
                     fmt::format("after: unknown step '{}'{}", name, DidYouMean(name, known)));
      }
      entry.dependencies.push_back(static_cast<std::uint32_t>(found - entries_.begin()));
    }
    std::ranges::sort(entry.dependencies);
    const auto repeated = std::ranges::unique(entry.dependencies);
    entry.dependencies.erase(repeated.begin(), repeated.end());
    return {};
  }

  Status ResolveDependencies() {
    for (JobEntry& entry : entries_) RETURN_IF_ERROR(ReadAfter(entry));
    const auto cycle = FindDependencyCycle(
        static_cast<std::uint32_t>(entries_.size()),
        [&](std::uint32_t i) { return std::span<const std::uint32_t>(entries_[i].dependencies); });
    if (!cycle.empty()) {
      std::string path;
      for (const std::uint32_t i : cycle) path += (path.empty() ? "" : " -> ") + entries_[i].name;
      return Wrong(entries_[cycle.front()].after->location,
                   fmt::format("dependency cycle: {}; remove one of these dependencies", path));
    }
    std::size_t count = 0;
    for (const JobEntry& entry : entries_) {
      std::vector<std::uint32_t> after;
      for (const std::uint32_t other : entry.dependencies) {
        for (std::uint32_t i = 0; i < entries_[other].steps; ++i)
          after.push_back(entries_[other].first_step + i);
      }
      count += after.size() * entry.steps;
      if (count > kMaxDependencies) {
        return Wrong(entry.after->location,
                     "too many dependencies; put a single step between them (run = \"true\")");
      }
      for (std::uint32_t i = 0; i < entry.steps; ++i)
        job_.steps[entry.first_step + i].after = after;
    }
    return {};
  }

  JobSource source_;
  std::vector<JobEntry> entries_;
  Job job_;
};

}  // namespace

Result<Job> ParseJob(std::string_view text, JobFormat format, std::string_view name,
                     const std::filesystem::path& folder) {
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    const auto line = static_cast<std::size_t>(std::ranges::count(text.substr(0, zero), '\n')) + 1;
    return ErrorAt(name, {.line = line, .column = 1}, "a NUL byte; not a text file");
  }
  ASSIGN_OR_RETURN(const auto document,
                   format == JobFormat::kJson ? ParseJson(text, name) : ParseToml(text, name));
  return JobReader(name, folder).Read(document);
}

Result<Job> ReadJobFile(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const auto text, ReadFile(path, kMaxUserFile));
  const auto format = path.extension() == ".json" ? JobFormat::kJson : JobFormat::kToml;
  return ParseJob(text, format, path.string(), path.parent_path());
}

}  // namespace reveza::jobs
