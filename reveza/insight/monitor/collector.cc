#include "reveza/insight/monitor/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "common/platform/machine.h"
#include "reveza/insight/monitor/daemon_status.h"
#include "reveza/insight/monitor/json_fields.h"

namespace reveza::monitor {
namespace {

// Sums each field that is known for all steps.
Usage Sum(const std::vector<Step>& steps) {
  Usage sum;
  const auto add = [&](auto field) {
    if (std::ranges::all_of(steps,
                            [&](const Step& step) { return (step.use.*field).has_value(); })) {
      for (const Step& step : steps) AddTo(sum.*field, step.use.*field);
    }
  };
  add(&Usage::cpu);
  add(&Usage::threads);
  add(&Usage::processes);
  add(&Usage::resident);
  add(&Usage::proportional);
  add(&Usage::io_read);
  add(&Usage::io_write);
  return sum;
}

// Returns how busy each core was between two readings; a core whose counters went back was idle.
std::vector<double> SharesOfCores(std::span<const platform::CpuTicks::Core> before,
                                  std::span<const platform::CpuTicks::Core> now) {
  std::vector<double> shares;
  shares.reserve(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto busy = static_cast<double>(now[i].busy - std::min(before[i].busy, now[i].busy));
    const auto idle = static_cast<double>(now[i].idle - std::min(before[i].idle, now[i].idle));
    shares.push_back(busy + idle > 0 ? busy / (busy + idle) : 0);
  }
  return shares;
}

}  // namespace

Collector::Collector(Sources sources)
    : sources_(std::move(sources)), watch_(sources_.root, sources_.max_open_files) {}

Snapshot Collector::Collect() {
  Snapshot snapshot;
  const std::uint64_t read_before = watch_.reader().files_read();
  const std::uint64_t opened_before = watch_.reader().files_opened();
  now_ = sources_.clock->Now();
  seconds_ = time_before_ ? std::chrono::duration<double>(now_ - *time_before_).count() : 0;
  snapshot.time = sources_.wall_time ? sources_.wall_time() : 0;
  CollectMachine(snapshot);
  CollectDaemons(snapshot);
  CollectGpus(snapshot);
  CollectJobs(snapshot);
  CollectProcesses(snapshot);
  time_before_ = now_;
  snapshot.process_files_read = watch_.reader().files_read() - read_before;
  snapshot.process_files_opened = watch_.reader().files_opened() - opened_before;
  return snapshot;
}

std::optional<double> Collector::Rate(Bytes before, Bytes now) const {
  // A smaller value means that the counter was reset.
  if (seconds_ <= 0 || now < before) return std::nullopt;
  return static_cast<double>(now - before) / seconds_;
}

void Collector::CollectMachine(Snapshot& snapshot) {
  Machine& machine = snapshot.machine;
  const auto cpu = platform::ReadCpuTicks(sources_.root);
  if (cpu) machine.cores = cpu->cores;
  if (cpu && cpu_before_ && cpu->busy >= cpu_before_->busy && cpu->idle >= cpu_before_->idle) {
    const auto busy = static_cast<double>(cpu->busy - cpu_before_->busy);
    const auto all = busy + static_cast<double>(cpu->idle - cpu_before_->idle);
    if (all > 0) machine.cpu = busy / all;
  }
  if (cpu && cpu_before_ && cpu->each.size() == cpu_before_->each.size()) {
    machine.each_core = SharesOfCores(cpu_before_->each, cpu->each);
  }
  cpu_before_ = cpu;
  machine.load = platform::ReadLoad(sources_.root);
  machine.memory = platform::ReadMachineMemory(sources_.root);
  machine.cgroup_headroom = platform::CgroupHeadroom(sources_.root);
  machine.pressure = platform::MachinePressure(sources_.root);
  machine.cgroup_pressure = platform::CgroupPressure(0, sources_.root);
}

void Collector::CollectDaemons(Snapshot& snapshot) {
  if (!sources_.daemons) return;
  for (const auto& answer : sources_.daemons()) {
    if (!answer) {
      // Running without a daemon is normal.
      if (answer.error().code != Error::Code::kNotFound) {
        snapshot.notes.push_back(answer.error().message);
      }
      continue;
    }
    const pid_t pid = PidAt(answer->status, "pid");
    const bool same_namespace = pid != 0 && pid == answer->peer;
    ReadDaemonStatus(answer->status, same_namespace, snapshot, answer->socket);
    if (!same_namespace) {
      snapshot.notes.emplace_back(
          "the daemon runs in another pid namespace: CPU and memory of its programs are "
          "unavailable");
    }
  }
  ComputeTransferRates(snapshot);
}

void Collector::ComputeTransferRates(Snapshot& snapshot) {
  std::map<std::string, TransferCounters> copied;
  for (Gpu& gpu : snapshot.gpus) {
    if (!gpu.swapped_out_all || !gpu.swapped_in_all || !gpu.handovers) continue;
    const TransferCounters now{*gpu.swapped_out_all, *gpu.swapped_in_all, gpu.handovers->count};
    if (const auto before = previous_transfers_.find(gpu.uuid);
        before != previous_transfers_.end()) {
      gpu.swap_out = Rate(before->second.out, now.out);
      gpu.swap_in = Rate(before->second.in, now.in);
      gpu.handovers->rate = Rate(before->second.handovers, now.handovers);
    }
    copied[gpu.uuid] = now;
  }
  for (Client& client : snapshot.clients) {
    if (!client.copied_out || !client.copied_in || client.pid == 0) continue;
    const std::string key = fmt::format("{} {}", client.job, client.pid);
    const TransferCounters now{*client.copied_out, *client.copied_in, 0};
    if (const auto before = previous_transfers_.find(key); before != previous_transfers_.end()) {
      client.swap_out = Rate(before->second.out, now.out);
      client.swap_in = Rate(before->second.in, now.in);
    }
    copied[key] = now;
  }
  previous_transfers_ = std::move(copied);
}

void Collector::CollectGpus(Snapshot& snapshot) {
  const auto gpu_of = [&](const nvml::Uuid& uuid) -> Gpu& {
    const std::string text = nvml::FormatUuid(uuid);
    const auto found = std::ranges::find(snapshot.gpus, text, &Gpu::uuid);
    if (found != snapshot.gpus.end()) return *found;
    Gpu gpu;
    gpu.uuid = text;
    return snapshot.gpus.emplace_back(std::move(gpu));
  };
  if (const auto readings = sources_.gpus != nullptr ? sources_.gpus->Read() : std::nullopt) {
    std::uint64_t index = 0;
    for (const auto& reading : *readings) {
      Gpu& gpu = gpu_of(reading.uuid);
      if (!gpu.index && !snapshot.daemon) gpu.index = index;
      ++index;
      if (gpu.name.empty()) gpu.name = reading.name;
      if (reading.uuid == nvml::Uuid{}) gpu.name = "unresponsive";
      if (reading.total) gpu.total = reading.total;
      if (reading.used) gpu.used = reading.used;
      // The daemon reports external processes; without one, all are external.
      if (snapshot.daemon || !reading.processes) continue;
      for (const auto& process : *reading.processes) {
        ExternalProcess outside;
        outside.pid = process.pid;
        outside.gpu = gpu.uuid;
        outside.command = watch_.reader().Command(process.pid);
        outside.used = process.used;
        snapshot.outside.push_back(std::move(outside));
      }
    }
  }
  if (sources_.activity == nullptr) return;
  for (const auto& reading : sources_.activity->Read()) {
    Gpu& gpu = gpu_of(reading.uuid);
    gpu.sm_active = reading.sm_active;
    gpu.some_resident = reading.some_resident;
    gpu.link_out = reading.link_out;
    gpu.link_in = reading.link_in;
  }
}

void Collector::CollectJobs(Snapshot& snapshot) {
  if (sources_.records) {
    const std::chrono::duration<double> period = kEndedPeriod;
    snapshot.records = sources_.records(snapshot.time - period.count());
  }
  if (!sources_.jobs) return;
  for (const JobAnswer& answer : sources_.jobs()) {
    auto job = ParseJobStatus(answer);
    if (job) {
      if (job->pid == 0) {
        snapshot.notes.push_back(
            fmt::format("job {} runs in another pid namespace: CPU and memory of its steps are as "
                        "reported by its runner, or unavailable",
                        job->id));
      }
      snapshot.jobs.push_back(*std::move(job));
    } else if (job.error().code != Error::Code::kNotFound) {
      snapshot.notes.push_back(job.error().message);
    }
  }
}

std::vector<std::vector<pid_t>> Collector::ProcessTrees(const Snapshot& snapshot) const {
  std::vector<std::vector<pid_t>> families;
  for (const Job& job : snapshot.jobs) {
    for (const Step& step : job.running) {
      families.push_back(step.pid == 0 ? std::vector<pid_t>{} : watch_.Descendants(step.pid));
    }
  }
  return families;
}

// Returns the existing clients, external processes and step processes, sorted and unique.
std::vector<pid_t> Collector::MonitoredProcesses(
    const Snapshot& snapshot, const std::vector<std::vector<pid_t>>& families) const {
  std::vector<pid_t> own;
  for (const Client& client : snapshot.clients) own.push_back(client.pid);
  for (const ExternalProcess& outside : snapshot.outside) own.push_back(outside.pid);
  for (const auto& family : families) own.insert(own.end(), family.begin(), family.end());
  std::ranges::sort(own);
  own.erase(std::unique(own.begin(), own.end()), own.end());
  std::erase_if(own, [this](pid_t pid) { return watch_.Find(pid) == nullptr; });
  return own;
}

void Collector::CollectProcesses(Snapshot& snapshot) {
  watch_.Refresh(now_);
  auto families = ProcessTrees(snapshot);
  auto own = MonitoredProcesses(snapshot, families);
  if (!watch_.Read(own)) {
    families = ProcessTrees(snapshot);
    own = MonitoredProcesses(snapshot, families);
  }
  if (watch_.size() > 0) snapshot.machine.processes = watch_.size();
  SampleExpensive(own);

  std::map<pid_t, std::string> step_of;
  auto next = families.begin();
  for (const Job& job : snapshot.jobs) {
    for (const Step& step : job.running) {
      const auto& family = *next++;
      if (snapshot.clients.empty()) continue;  // not needed
      for (const pid_t pid : family) step_of[pid] = fmt::format("{}/{}", job.id, step.number);
    }
  }
  const auto alone = [&](pid_t pid) { return UsageOf(std::span(&pid, 1), false); };
  for (Client& client : snapshot.clients) {
    client.use = alone(client.pid);
    if (const auto step = step_of.find(client.pid); step != step_of.end()) {
      client.step = step->second;
    }
  }
  for (ExternalProcess& outside : snapshot.outside) outside.use = alone(outside.pid);
  std::set<pid_t> roots;
  std::size_t family = 0;
  for (Job& job : snapshot.jobs) {
    for (Step& step : job.running) {
      step.use = TrackPeak(step.pid, UsageOf(families[family++], true));
      SetCommand(step);
      roots.insert(step.pid);
    }
    if (!job.running.empty()) job.use = Sum(job.running);
  }
  const auto gone = [&](const auto& entry) { return !roots.contains(entry.first); };
  std::erase_if(peaks_, gone);
  std::erase_if(commands_, gone);
  std::erase_if(io_, [&](const auto& entry) { return entry.second.at != now_; });
}

void Collector::SampleExpensive(const std::vector<pid_t>& own) {
  std::erase_if(expensive_,
                [&](const auto& entry) { return !std::ranges::binary_search(own, entry.first); });
  const auto elapsed = std::chrono::nanoseconds(now_ - time_before_.value_or(now_));
  const auto turn = expensive_turns_.Take(own, elapsed);
  for (const pid_t pid : time_before_ ? turn : own) {
    const auto& stat = *watch_.Find(pid);
    const auto before = expensive_.find(pid);
    if (before != expensive_.end() && IsUnchanged(before->second, stat)) continue;
    const auto memory = watch_.reader().Memory(pid);
    expensive_[pid] = {.start_ticks = stat.start_ticks,
                       .faults = stat.faults,
                       .resident = stat.resident,
                       .read_at = now_,
                       .proportional = watch_.reader().ProportionalMemory(pid),
                       .peak = memory ? memory->peak : std::nullopt};
  }
}

// Memory cannot have changed without page faults or a change of the resident size.
bool Collector::IsUnchanged(const ExpensiveSample& sample,
                            const platform::ProcessStat& stat) const {
  return sample.start_ticks == stat.start_ticks && sample.faults == stat.faults &&
         sample.resident == stat.resident && now_ - sample.read_at < kUnchangedPeriod;
}

Usage Collector::UsageOf(std::span<const pid_t> pids, bool tree) {
  Usage use;
  bool all_sampled = true;
  Bytes proportional = 0;
  for (const pid_t pid : pids) {
    const auto* process = watch_.Find(pid);
    if (process == nullptr) continue;
    AddTo(use.cpu, watch_.Cpu(pid));
    AddTo(use.threads, std::optional(process->threads));
    AddTo(use.processes, std::optional<std::uint64_t>(1));
    AddTo(use.resident, std::optional(process->resident));
    const auto sample = expensive_.find(pid);
    const bool known =
        sample != expensive_.end() && sample->second.start_ticks == process->start_ticks;
    const auto share = known ? sample->second.proportional : std::nullopt;
    proportional += share.value_or(0);
    all_sampled = all_sampled && share;
    if (known && pids.size() == 1) use.peak = sample->second.peak;
  }
  if (all_sampled && use.processes) use.proportional = proportional;
  SetIoRates(use, pids, tree);
  return use;
}

void Collector::SetIoRates(Usage& use, std::span<const pid_t> pids, bool tree) {
  const auto* root = pids.empty() ? nullptr : watch_.Find(pids.front());
  if (root == nullptr) return;
  platform::ProcessIo sum;
  for (const pid_t pid : pids) {
    const auto io = watch_.reader().IoCached(pid);
    // Of another user.
    if (!io) return;
    sum.read += io->read;
    sum.written += io->written;
  }
  const std::pair key(pids.front(), tree);
  const auto before = io_.find(key);
  if (before != io_.end() && before->second.start_ticks == root->start_ticks) {
    // Less than before: a process has left the tree with what it had.
    use.io_read = Rate(before->second.io.read, sum.read);
    use.io_write = Rate(before->second.io.written, sum.written);
  }
  io_[key] = {root->start_ticks, now_, sum};
}

void Collector::SetCommand(Step& step) {
  const auto* process = watch_.Find(step.pid);
  if (process == nullptr) return;
  KnownCommand& known = commands_[step.pid];
  if (known.start_ticks != process->start_ticks || known.name != process->name) {
    known = {process->start_ticks, process->name, watch_.reader().Command(step.pid)};
  }
  step.command = known.command;
}

Usage Collector::TrackPeak(pid_t root, Usage use) {
  const auto* process = watch_.Find(root);
  const auto memory = use.Memory();
  if (process == nullptr || !memory) return use;
  auto& [start, peak] = peaks_[root];
  if (start != process->start_ticks) peak = 0;
  start = process->start_ticks;
  peak = std::max({peak, *memory, use.peak.value_or(0)});
  use.peak = peak;
  return use;
}

}  // namespace reveza::monitor
