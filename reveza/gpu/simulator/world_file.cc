#include "reveza/gpu/simulator/world_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/base/nearest.h"
#include "common/base/parse_number.h"
#include "common/base/units.h"
#include "common/settings/document.h"
#include "reveza/gpu/scheduler/policy_text.h"

namespace reveza::simulator {
namespace {

using Kind = Node::Kind;

Status Read(Bytes& to, std::string_view text) {
  ASSIGN_OR_RETURN(to, ParseBytes(text));
  return {};
}
Status Read(Time& to, std::string_view text) {
  ASSIGN_OR_RETURN(to, ParseDuration(text));
  return {};
}
template <typename T>
Status ReadNumber(T& to, std::string_view text, T min, T max) {
  const auto value = ParseNumber<T>(text);
  if (!value || *value < min || *value > max) {
    return InvalidArgument("'{}' is not valid; use a number from {} to {}", text, min, max);
  }
  to = *value;
  return {};
}

// A key of a table, and how its value is stored.
template <typename Target>
struct Key {
  std::string_view name;
  Status (*read)(Target& target, std::string_view text);
};

constexpr auto kWorldKeys = std::to_array<Key<WorldFile>>({
    {"nodes", [](WorldFile& w,
                 std::string_view t) { return ReadNumber<std::size_t>(w.nodes, t, 1, 100'000); }},
    {"gpus",
     [](WorldFile& w, std::string_view t) -> Status {
       std::size_t gpus = 1;
       RETURN_IF_ERROR(ReadNumber<std::size_t>(gpus, t, 1, 16));
       w.node.budgets.resize(gpus, w.node.budgets[0]);
       return {};
     }},
    {"gpu_budget",
     [](WorldFile& w, std::string_view t) -> Status {
       Bytes budget = 0;
       RETURN_IF_ERROR(Read(budget, t));
       std::ranges::fill(w.node.budgets, budget);
       return {};
     }},
    {"host_budget",
     [](WorldFile& w, std::string_view t) { return Read(w.node.scheduler.host_budget, t); }},
    {"link",
     [](WorldFile& w, std::string_view t) -> Status {
       Bytes per_second = 0;
       RETURN_IF_ERROR(Read(per_second, t));
       if (per_second == 0) return InvalidArgument("the link must move at least a byte per second");
       w.node.link_bandwidth = static_cast<double>(per_second);
       w.node.scheduler.link_estimate = w.node.link_bandwidth;
       return {};
     }},
    {"piece",
     [](WorldFile& w, std::string_view t) -> Status {
       RETURN_IF_ERROR(Read(w.node.granule, t));
       if (w.node.granule == 0) return InvalidArgument("a piece must have a byte");
       return {};
     }},
    {"kernels",
     [](WorldFile& w, std::string_view t) -> Status {
       constexpr std::pair<std::string_view, Kernels> kNames[] = {
           {"independent", Kernels::kIndependent},
           {"time-sliced", Kernels::kTimeSliced},
           {"mps", Kernels::kMps}};
       for (const auto& [name, kernels] : kNames) {
         if (t != name) continue;
         w.node.kernels = kernels;
         return {};
       }
       return InvalidArgument("'{}' is not valid; use time-sliced, mps or independent", t);
     }},
    {"handover_share",
     [](WorldFile& w, std::string_view t) {
       return ReadNumber(w.node.scheduler.handover_share, t, 0.001, 0.5);
     }},
    {"slice_floor",
     [](WorldFile& w, std::string_view t) { return Read(w.node.scheduler.slice_floor, t); }},
    {"slice_ceiling",
     [](WorldFile& w, std::string_view t) { return Read(w.node.scheduler.slice_ceiling, t); }},
    {"max_wait",
     [](WorldFile& w, std::string_view t) { return Read(w.node.scheduler.max_wait, t); }},
    {"seed",
     [](WorldFile& w, std::string_view t) {
       return ReadNumber<std::uint64_t>(w.node.seed, t, 0, ~std::uint64_t{0});
     }},
});

constexpr auto kJobKeys = std::to_array<Key<JobGroup>>({
    {"name",
     [](JobGroup& j, std::string_view t) -> Status {
       j.name = t;
       return {};
     }},
    {"copies",
     [](JobGroup& j, std::string_view t) {
       return ReadNumber<std::size_t>(j.copies, t, 1, 1'000'000);
     }},
    {"start", [](JobGroup& j, std::string_view t) { return Read(j.start, t); }},
    {"memory",
     [](JobGroup& j, std::string_view t) -> Status {
       RETURN_IF_ERROR(Read(j.plan.footprint, t));
       j.plan.max_footprint = j.plan.footprint;
       return {};
     }},
    {"context", [](JobGroup& j, std::string_view t) { return Read(j.plan.context, t); }},
    {"gpus",
     [](JobGroup& j, std::string_view t) -> Status {
       std::size_t gpus = 1;
       RETURN_IF_ERROR(ReadNumber<std::size_t>(gpus, t, 1, 16));
       j.plan.gpus.clear();
       for (GpuId gpu = 0; gpu < gpus; ++gpu) j.plan.gpus.push_back(gpu);
       return {};
     }},
    {"work", [](JobGroup& j, std::string_view t) { return Read(j.plan.work, t); }},
    {"kernel", [](JobGroup& j, std::string_view t) { return Read(j.plan.step, t); }},
    {"fills",
     [](JobGroup& j, std::string_view t) { return ReadNumber(j.plan.fills, t, 0.001, 1.0); }},
    {"busy", [](JobGroup& j, std::string_view t) { return Read(j.busy, t); }},
    {"sleep", [](JobGroup& j, std::string_view t) { return Read(j.plan.sleep_time, t); }},
    {"weight",
     [](JobGroup& j, std::string_view t) -> Status {
       ASSIGN_OR_RETURN(j.plan.policy.weight, scheduler::ParseWeight(t));
       return {};
     }},
    {"priority",
     [](JobGroup& j, std::string_view t) -> Status {
       ASSIGN_OR_RETURN(j.plan.policy.priority, scheduler::ParsePriority(t));
       return {};
     }},
    {"interactive",
     [](JobGroup& j, std::string_view t) -> Status {
       ASSIGN_OR_RETURN(j.plan.policy.interactive, scheduler::ParseInteractive(t));
       return {};
     }},
    {"request", [](JobGroup& j, std::string_view t) { return Read(j.plan.policy.request, t); }},
    {"limit", [](JobGroup& j, std::string_view t) { return Read(j.plan.policy.limit, t); }},
});

template <typename Target, std::size_t N>
Status ReadKey(const std::array<Key<Target>, N>& keys, Target& target, std::string_view name,
               std::string_view value) {
  const auto found = std::ranges::find(keys, name, &Key<Target>::name);
  if (found == keys.end()) {
    std::vector<std::string_view> names;
    for (const auto& key : keys) names.push_back(key.name);
    return InvalidArgument("unknown key '{}'{}; known are {}", name, DidYouMean(name, names),
                           fmt::join(names, ", "));
  }
  auto read = found->read(target, value);
  if (!read) return Fail(read.error().code, "{}: {}", name, read.error().message);
  return {};
}

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  Result<WorldFile> Read(const Node& root) {
    WorldFile world = DefaultWorld();
    for (const Member& member : root.members) {
      if (member.key != "job") {
        RETURN_IF_ERROR(ReadMember(kWorldKeys, world, member));
        continue;
      }
      if (member.value.kind != Kind::kArray) {
        return ErrorAt(name_, member.location, "job must be an array of tables; write [[job]]");
      }
      for (const Node& item : member.value.items) {
        ASSIGN_OR_RETURN(JobGroup job, ReadJob(item, world.jobs.size()));
        world.jobs.push_back(std::move(job));
      }
    }
    if (world.jobs.empty()) return ErrorAt(name_, {}, "no job; write [[job]] with memory and work");
    return world;
  }

 private:
  template <typename Target, std::size_t N>
  Status ReadMember(const std::array<Key<Target>, N>& keys, Target& target, const Member& member) {
    const Kind kind = member.value.kind;
    if (kind == Kind::kArray || kind == Kind::kTable || kind == Kind::kOther) {
      return ErrorAt(name_, member.location,
                     fmt::format("{} must be a number or a string", member.key));
    }
    const auto read = ReadKey(keys, target, member.key, member.value.text);
    if (!read) return ErrorAt(name_, member.location, read.error().message);
    return {};
  }

  Result<JobGroup> ReadJob(const Node& item, std::size_t index) {
    if (item.kind != Kind::kTable) {
      return ErrorAt(name_, item.location, "job must be an array of tables; write [[job]]");
    }
    JobGroup job = DefaultJob();
    job.name = fmt::format("job{}", index + 1);
    for (const Member& member : item.members) RETURN_IF_ERROR(ReadMember(kJobKeys, job, member));
    for (const auto& [key, missing] : {std::pair("memory", job.plan.footprint == 0),
                                       std::pair("work", job.plan.work == Time(0))}) {
      if (missing) {
        return ErrorAt(name_, item.location, fmt::format("{} has no {}", job.name, key));
      }
    }
    return job;
  }

  const std::string_view name_;
};

}  // namespace

JobGroup DefaultJob() {
  JobGroup job;
  job.plan.gpus = {0};
  job.plan.context = 500 * kMiB;
  job.plan.step = std::chrono::milliseconds(20);
  return job;
}

WorldFile DefaultWorld() {
  WorldFile world;
  world.node.budgets = {24 * kGiB};
  world.node.link_bandwidth = world.node.scheduler.link_estimate = 50e9;
  world.node.scheduler.host_budget = 256 * kGiB;
  world.node.kernels = Kernels::kTimeSliced;
  world.node.check = false;
  return world;
}

Result<WorldFile> ParseWorldFile(std::string_view text, std::string_view name) {
  ASSIGN_OR_RETURN(const Node root, ParseToml(text, name));
  return Reader(name).Read(root);
}

Status ChangeWorld(WorldFile& world, std::string_view change) {
  const std::size_t equals = change.find('=');
  const std::size_t dot = change.find('.');
  if (equals == std::string_view::npos) {
    return InvalidArgument("'{}' is not valid; write KEY=VALUE or JOB.KEY=VALUE", change);
  }
  const std::string_view value = change.substr(equals + 1);
  if (dot == std::string_view::npos || dot > equals) {
    return ReadKey(kWorldKeys, world, change.substr(0, equals), value);
  }
  const std::string_view name = change.substr(0, dot);
  bool found = false;
  for (JobGroup& job : world.jobs) {
    if (job.name != name) continue;
    found = true;
    RETURN_IF_ERROR(ReadKey(kJobKeys, job, change.substr(dot + 1, equals - dot - 1), value));
  }
  if (found) return {};
  std::vector<std::string_view> names;
  for (const JobGroup& job : world.jobs) names.push_back(job.name);
  return InvalidArgument("no job '{}'{}", name, DidYouMean(name, names));
}

Status ValidateWorld(const WorldFile& world) {
  const scheduler::Config& config = world.node.scheduler;
  if (config.slice_floor <= Time(0) || config.slice_floor > config.slice_ceiling) {
    return InvalidArgument("slice_floor must be longer than 0 and at most slice_ceiling");
  }
  for (const JobGroup& job : world.jobs) {
    const Plan& plan = job.plan;
    if (plan.step <= Time(0)) return InvalidArgument("{}: kernel must be longer than 0", job.name);
    if (plan.gpus.size() > world.node.budgets.size()) {
      return InvalidArgument("{} needs {} GPUs, of which a node has {}", job.name, plan.gpus.size(),
                             world.node.budgets.size());
    }
    const Bytes needs = plan.footprint + plan.context;
    const Bytes most = std::min(world.node.budgets[0], plan.policy.limit);
    if (needs > most) {
      return InvalidArgument("{} needs {} with its context, of which it may have {}", job.name,
                             FormatBytes(needs), FormatBytes(most));
    }
    if ((job.busy == Time(0)) != (plan.sleep_time == Time(0))) {
      return InvalidArgument("{}: busy and sleep need each other", job.name);
    }
  }
  return {};
}

}  // namespace reveza::simulator
