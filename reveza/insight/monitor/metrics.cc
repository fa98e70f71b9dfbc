#include "reveza/insight/monitor/metrics.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "reveza/insight/monitor/json_fields.h"

namespace reveza::monitor {
namespace {

using enum MetricType;

constexpr std::array kMetrics = {
    Metric{"reveza_cpu_cores", kGauge, "", "cores of the machine"},
    Metric{"reveza_cpu_busy_ratio", kGauge, "", "CPU utilisation of all cores"},
    Metric{"reveza_load1", kGauge, "", "load average over one minute"},
    Metric{"reveza_memory_total_bytes", kGauge, "", "memory of the machine"},
    Metric{"reveza_memory_available_bytes", kGauge, "", "available memory"},
    Metric{"reveza_swap_total_bytes", kGauge, "", "swap space"},
    Metric{"reveza_swap_free_bytes", kGauge, "", "free swap space"},
    Metric{"reveza_cgroup_headroom_bytes", kGauge, "", "memory left in the cgroup of this process"},
    Metric{"reveza_pressure_ratio", kGauge, "resource,kind",
           "share of the last ten seconds in which some or all (full) tasks stalled"},
    Metric{"reveza_pressure_seconds_total", kCounter, "resource,kind",
           "time since boot in which some or all (full) tasks stalled"},
    Metric{"reveza_processes", kGauge, "", "visible processes"},
    Metric{"reveza_daemon_up", kGauge, "", "1 if revezad responds, else 0"},
    Metric{"reveza_host_budget_bytes", kGauge, "", "host memory available for swapped GPU memory"},
    Metric{"reveza_host_reserved_bytes", kGauge, "", "host memory reserved for swapped GPU memory"},
    Metric{"reveza_gpu_info", kGauge, "gpu,index,name", "1 for each GPU"},
    Metric{"reveza_gpu_memory_total_bytes", kGauge, "gpu", "memory of the GPU"},
    Metric{"reveza_gpu_memory_used_bytes", kGauge, "gpu",
           "used by all processes, according to the driver"},
    Metric{"reveza_gpu_memory_budget_bytes", kGauge, "gpu", "memory managed by revezad"},
    Metric{"reveza_gpu_memory_resident_bytes", kGauge, "gpu",
           "GPU memory of programs under Reveza, contexts included"},
    Metric{"reveza_gpu_memory_swapped_bytes", kGauge, "gpu", "swapped out to host memory"},
    Metric{"reveza_gpu_memory_external_bytes", kGauge, "gpu", "used by processes outside Reveza"},
    Metric{"reveza_gpu_sm_active_ratio", kGauge, "gpu",
           "share of cycles in which a multiprocessor had work (GPM: Hopper and later)"},
    Metric{
        "reveza_gpu_some_kernel_resident_ratio", kGauge, "gpu",
        "share of time with at least one kernel resident; not the utilisation of multiprocessors"},
    Metric{"reveza_gpu_link_bytes_per_second", kGauge, "gpu,direction",
           "PCIe traffic out of and into the GPU (GPM: Hopper and later)"},
    Metric{"reveza_gpu_moved_bytes_total", kCounter, "gpu,direction",
           "bytes swapped out and in by Reveza"},
    Metric{"reveza_gpu_unchanged_bytes_total", kCounter, "gpu",
           "bytes that left the GPU without a copy"},
    Metric{"reveza_gpu_handovers_total", kCounter, "gpu", "handovers from one job to the next"},
    Metric{"reveza_gpu_handover_mean_seconds", kGauge, "gpu", "mean duration of handovers"},
    Metric{"reveza_program_clients", kGauge, "program,state", "processes under Reveza, by state"},
    Metric{"reveza_program_cpu_cores", kGauge, "program", "cores in use"},
    Metric{"reveza_program_memory_bytes", kGauge, "program", "host memory in use"},
    Metric{"reveza_program_gpu_resident_bytes", kGauge, "program", "GPU memory in use"},
    Metric{"reveza_program_gpu_swapped_bytes", kGauge, "program", "GPU memory swapped out"},
    Metric{"reveza_program_share_wanted_ratio", kGauge, "program",
           "share of GPU time over one minute that its weight entitles it to"},
    Metric{"reveza_program_share_got_ratio", kGauge, "program",
           "share of GPU time that it had over one minute"},
    Metric{"reveza_program_wait_seconds", kGauge, "program,percentile",
           "time from a request for the GPU to the open gate, of the latest 512 (50, 95, 99)"},
    Metric{"reveza_program_gpu_seconds_total", kCounter, "program",
           "time in which it could use the GPU"},
    Metric{"reveza_program_waited_seconds_total", kCounter, "program",
           "time in which its processes waited for the GPU"},
    Metric{"reveza_job_steps", kGauge, "job_id,job_name,state",
           "steps by state: done, running, waiting, failed, held; of an ended job also unknown"},
    Metric{"reveza_job_steps_all", kGauge, "job_id,job_name", "total number of steps"},
    Metric{"reveza_job_workers", kGauge, "job_id,job_name", "maximum number of concurrent steps"},
    Metric{"reveza_job_steps_per_second", kGauge, "job_id,job_name", "throughput"},
    Metric{"reveza_job_eta_seconds", kGauge, "job_id,job_name,percentile",
           "estimated remaining time, median (50) and 90th percentile (90)"},
    Metric{"reveza_job_paused", kGauge, "job_id,job_name", "1 if the job is paused, else 0"},
    Metric{"reveza_job_held_back", kGauge, "job_id,job_name",
           "1 if a ready step is held back by a lack of resources, else 0"},
    Metric{"reveza_job_cpu_cores", kGauge, "job_id,job_name", "cores used by its steps"},
    Metric{"reveza_job_memory_bytes", kGauge, "job_id,job_name", "memory used by its steps"},
    Metric{"reveza_job_memory_claim_bytes", kGauge, "job_id,job_name",
           "memory claimed by its running steps"},
    Metric{"reveza_job_metric", kGauge, "job_id,job_name,metric,statistic",
           "metrics reported by its steps: min, mean, max, final"},
    Metric{"reveza_job_running", kGauge, "job_id,job_name",
           "1 while a runner has the job, 0 for an hour after its end"},
    Metric{"reveza_job_end_timestamp_seconds", kGauge, "job_id,job_name",
           "when the last step of a job without a runner ended, in Unix time"},
    Metric{"reveza_job_attempts_total", kCounter, "job_id,job_name,outcome",
           "ended attempts to run a step, by outcome: done, failed, killed, ..."},
    Metric{"reveza_job_cpu_seconds_total", kCounter, "job_id,job_name",
           "processor time of ended attempts"},
    Metric{"reveza_job_step_duration_seconds", kHistogram, "job_id,job_name",
           "duration of successful attempts"},
    Metric{"reveza_notes", kGauge, "", "sources that could not be read; see reveza top"},
};

using Labels = std::vector<std::pair<std::string, std::string>>;

class SampleList {
 public:
  template <typename T>
  void Add(std::string_view name, const std::optional<T>& value, Labels labels = {}) {
    if (!value) return;
    const auto found = std::ranges::find(kMetrics, name, &Metric::name);
    samples_.push_back({static_cast<std::size_t>(found - kMetrics.begin()), std::move(labels),
                        static_cast<double>(*value), std::nullopt});
  }
  void Add(std::string_view name, double value, Labels labels = {}) {
    Add(name, std::optional(value), std::move(labels));
  }
  void Add(std::string_view name, const Durations& durations, Labels labels) {
    Add(name, 0, std::move(labels));
    samples_.back().durations = durations;
  }
  std::vector<MetricSample> Take() && { return std::move(samples_); }

 private:
  std::vector<MetricSample> samples_;
};

void AddPressure(SampleList& samples, const char* resource,
                 const std::optional<platform::Pressure>& pressure) {
  if (!pressure) return;
  const auto add = [&](const char* kind, const platform::PressureLine& line) {
    const Labels labels = {{"resource", resource}, {"kind", kind}};
    samples.Add("reveza_pressure_ratio", line.average_10s / 100, labels);
    samples.Add("reveza_pressure_seconds_total", static_cast<double>(line.total.count()) / 1e6,
                labels);
  };
  add("some", pressure->some);
  if (pressure->full) add("full", *pressure->full);
}

void AddMachine(SampleList& samples, const Machine& machine) {
  samples.Add("reveza_cpu_cores", machine.cores);
  samples.Add("reveza_cpu_busy_ratio", machine.cpu);
  if (machine.load) samples.Add("reveza_load1", (*machine.load)[0]);
  if (machine.memory) {
    samples.Add("reveza_memory_total_bytes", std::optional(machine.memory->total));
    samples.Add("reveza_memory_available_bytes", std::optional(machine.memory->available));
    samples.Add("reveza_swap_total_bytes", machine.memory->swap_total);
    samples.Add("reveza_swap_free_bytes", machine.memory->swap_free);
  }
  samples.Add("reveza_cgroup_headroom_bytes", machine.cgroup_headroom);
  AddPressure(samples, "cpu", machine.pressure.cpu);
  AddPressure(samples, "memory", machine.pressure.memory);
  AddPressure(samples, "io", machine.pressure.io);
  samples.Add("reveza_processes", machine.processes);
}

void AddGpu(SampleList& samples, const Gpu& gpu) {
  const Labels labels = {{"gpu", gpu.uuid}};
  samples.Add("reveza_gpu_info", 1,
              {{"gpu", gpu.uuid},
               {"index", gpu.index ? std::to_string(*gpu.index) : ""},
               {"name", gpu.name}});
  samples.Add("reveza_gpu_memory_total_bytes", gpu.total, labels);
  samples.Add("reveza_gpu_memory_used_bytes", gpu.used, labels);
  samples.Add("reveza_gpu_memory_budget_bytes", gpu.budget, labels);
  samples.Add("reveza_gpu_memory_resident_bytes", gpu.resident, labels);
  samples.Add("reveza_gpu_memory_swapped_bytes", gpu.swapped, labels);
  samples.Add("reveza_gpu_memory_external_bytes", gpu.external, labels);
  samples.Add("reveza_gpu_sm_active_ratio", gpu.sm_active, labels);
  samples.Add("reveza_gpu_some_kernel_resident_ratio", gpu.some_resident, labels);
  const Labels out = {{"gpu", gpu.uuid}, {"direction", "out"}};
  const Labels in = {{"gpu", gpu.uuid}, {"direction", "in"}};
  samples.Add("reveza_gpu_link_bytes_per_second", gpu.link_out, out);
  samples.Add("reveza_gpu_link_bytes_per_second", gpu.link_in, in);
  samples.Add("reveza_gpu_moved_bytes_total", gpu.swapped_out_all, out);
  samples.Add("reveza_gpu_moved_bytes_total", gpu.swapped_in_all, in);
  samples.Add("reveza_gpu_unchanged_bytes_total", gpu.unchanged_all, labels);
  if (!gpu.handovers) return;
  samples.Add("reveza_gpu_handovers_total", std::optional(gpu.handovers->count), labels);
  samples.Add("reveza_gpu_handover_mean_seconds", gpu.handovers->mean_seconds, labels);
}

struct Sharing {
  std::map<std::string, std::pair<double, double>> shares;  // of each job: wanted, got
  std::optional<WaitTimes> waits;

  void Add(const Client& client) {
    if (client.share_wanted && client.share_got) {
      shares[client.job] = {*client.share_wanted, *client.share_got};
    }
    if (!client.waits) return;
    const WaitTimes before = waits.value_or(WaitTimes{});
    waits =
        WaitTimes{std::max(before.p50, client.waits->p50), std::max(before.p95, client.waits->p95),
                  std::max(before.p99, client.waits->p99)};
  }
};

void AddSharing(SampleList& samples, const std::string& program, const Sharing& sharing) {
  const Labels labels = {{"program", program}};
  if (!sharing.shares.empty()) {
    double wanted = 0;
    double got = 0;
    for (const auto& [job, share] : sharing.shares) {
      wanted += share.first;
      got += share.second;
    }
    samples.Add("reveza_program_share_wanted_ratio", wanted, labels);
    samples.Add("reveza_program_share_got_ratio", got, labels);
  }
  if (!sharing.waits) return;
  const auto add = [&](const char* percentile, double seconds) {
    samples.Add("reveza_program_wait_seconds", seconds,
                {{"program", program}, {"percentile", percentile}});
  };
  add("50", sharing.waits->p50);
  add("95", sharing.waits->p95);
  add("99", sharing.waits->p99);
}

// Aggregates programs by name, to bound the number of time series.
void AddPrograms(SampleList& samples, const std::vector<Client>& clients) {
  struct Sum {
    std::map<std::string, double> states;
    std::optional<double> cpu;
    std::optional<Bytes> memory, resident, swapped;
    Sharing sharing;
  };
  std::map<std::string, Sum> programs;
  for (const Client& client : clients) {
    Sum& sum = programs[client.name];
    sum.states[client.unresponsive ? "hung" : client.state] += 1;
    AddTo(sum.cpu, client.use.cpu);
    AddTo(sum.memory, client.use.Memory());
    if (client.resident && client.fixed) {
      AddTo(sum.resident, std::optional(*client.resident + *client.fixed));
    }
    AddTo(sum.swapped, client.swapped);
    sum.sharing.Add(client);
  }
  for (const auto& [name, sum] : programs) {
    const Labels labels = {{"program", name}};
    for (const auto& [state, count] : sum.states) {
      samples.Add("reveza_program_clients", count, {{"program", name}, {"state", state}});
    }
    samples.Add("reveza_program_cpu_cores", sum.cpu, labels);
    samples.Add("reveza_program_memory_bytes", sum.memory, labels);
    samples.Add("reveza_program_gpu_resident_bytes", sum.resident, labels);
    samples.Add("reveza_program_gpu_swapped_bytes", sum.swapped, labels);
    AddSharing(samples, name, sum.sharing);
  }
}

Labels With(Labels labels, const char* label, const std::string& value) {
  labels.emplace_back(label, value);
  return labels;
}

void AddSteps(SampleList& samples, const StepCounts& steps, const Labels& labels) {
  const auto add = [&](const char* state, const std::optional<std::uint64_t>& count) {
    samples.Add("reveza_job_steps", count, With(labels, "state", state));
  };
  add("done", steps.done);
  add("running", steps.running);
  add("waiting", steps.waiting);
  add("failed", steps.failed);
  add("held", steps.held);
  samples.Add("reveza_job_steps_all", steps.all, labels);
}

void AddJob(SampleList& samples, const Job& job) {
  const Labels labels = {{"job_id", job.id}, {"job_name", job.name}};
  const auto with = [&](const char* label, const std::string& value) {
    return With(labels, label, value);
  };
  AddSteps(samples, job.steps, labels);
  samples.Add("reveza_job_workers", job.workers, labels);
  samples.Add("reveza_job_steps_per_second", job.rate, labels);
  samples.Add("reveza_job_eta_seconds", job.eta_p50_seconds, with("percentile", "50"));
  samples.Add("reveza_job_eta_seconds", job.eta_p90_seconds, with("percentile", "90"));
  if (!job.state.empty()) {
    samples.Add("reveza_job_paused", job.state == "paused" ? 1 : 0, labels);
  }
  samples.Add("reveza_job_held_back", job.waiting.empty() ? 0 : 1, labels);
  samples.Add("reveza_job_cpu_cores", job.use.cpu, labels);
  std::optional<Bytes> claims;
  std::optional<Bytes> measured;
  for (const Step& step : job.running) {
    AddTo(claims, step.claim);
    AddTo(measured, step.memory);
  }
  samples.Add("reveza_job_memory_bytes", job.use.Memory() ? job.use.Memory() : measured, labels);
  samples.Add("reveza_job_memory_claim_bytes", claims, labels);
  for (const auto& entry : job.metrics) {
    const std::string& name = entry.first;
    const MetricSummary& metric = entry.second;
    const auto add = [&](const char* statistic, const std::optional<double>& value) {
      Labels more = with("metric", name);
      more.emplace_back("statistic", statistic);
      samples.Add("reveza_job_metric", value, std::move(more));
    };
    add("min", metric.min);
    add("mean", metric.mean);
    add("max", metric.max);
    add("final", metric.last);
  }
}

// `name`: of the job, as its runner says; without one, jobs have their name as id.
void AddRecord(SampleList& samples, const JobRecord& record, const std::string& name) {
  const Labels labels = {{"job_id", record.id}, {"job_name", name}};
  samples.Add("reveza_job_running", record.running ? 1 : 0, labels);
  if (!record.running) {
    AddSteps(samples, record.steps, labels);
    samples.Add("reveza_job_steps", static_cast<double>(record.unknown),
                With(labels, "state", "unknown"));
    samples.Add("reveza_job_end_timestamp_seconds", record.ended, labels);
  }
  for (const auto& [outcome, count] : record.attempts) {
    samples.Add("reveza_job_attempts_total", static_cast<double>(count),
                With(labels, "outcome", outcome));
  }
  samples.Add("reveza_job_cpu_seconds_total", record.cpu_seconds, labels);
  samples.Add("reveza_job_step_duration_seconds", record.durations, labels);
}

}  // namespace

std::span<const Metric> AllMetrics() { return kMetrics; }

std::vector<MetricSample> MetricSamples(const Snapshot& snapshot) {
  SampleList samples;
  AddMachine(samples, snapshot.machine);
  samples.Add("reveza_daemon_up", snapshot.daemon ? 1 : 0);
  if (snapshot.daemon) {
    std::optional<Bytes> budget = snapshot.daemon->host_budget;
    std::optional<Bytes> reserved = snapshot.daemon->host_reserved;
    for (const Daemon& further : snapshot.further_daemons) {
      // They share the host's memory.
      if (further.host_budget) budget = std::max(budget.value_or(0), *further.host_budget);
      AddTo(reserved, further.host_reserved);
    }
    samples.Add("reveza_host_budget_bytes", budget);
    samples.Add("reveza_host_reserved_bytes", reserved);
  }
  for (const Gpu& gpu : snapshot.gpus) AddGpu(samples, gpu);
  AddPrograms(samples, snapshot.clients);
  for (const auto& [program, used] : snapshot.used) {
    samples.Add("reveza_program_gpu_seconds_total", used.gpu_seconds, {{"program", program}});
    samples.Add("reveza_program_waited_seconds_total", used.waited_seconds, {{"program", program}});
  }
  for (const Job& job : snapshot.jobs) AddJob(samples, job);
  for (const JobRecord& record : snapshot.records) {
    const auto job = std::ranges::find(snapshot.jobs, record.id, &Job::id);
    AddRecord(samples, record, job == snapshot.jobs.end() ? record.id : job->name);
  }
  samples.Add("reveza_notes", static_cast<double>(snapshot.notes.size()));
  return std::move(samples).Take();
}

}  // namespace reveza::monitor
