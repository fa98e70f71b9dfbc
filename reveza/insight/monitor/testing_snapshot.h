// Test data: a snapshot with all kinds of entries, many values unavailable.
#pragma once

#include <utility>

#include "reveza/insight/monitor/snapshot.h"

namespace reveza::monitor {

inline Gpu TestingGpu() {
  Gpu gpu;
  gpu.index = 0;
  gpu.uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
  gpu.name = "NVIDIA H100";
  gpu.total = 80 * kGiB;
  gpu.used = 66 * kGiB;
  gpu.budget = 78 * kGiB;
  gpu.resident = 60 * kGiB;
  gpu.swapped = 24 * kGiB;
  gpu.external = 6 * kGiB;
  gpu.sm_active = 0.37;
  gpu.some_resident = 1.0;
  gpu.link_out = 21.4e9;
  gpu.link_in = 20.1e9;
  gpu.swap_out = 20.0e9;
  gpu.swap_in = 19.5e9;
  gpu.swapped_out_all = 400 * kGiB;
  gpu.swapped_in_all = 380 * kGiB;
  gpu.unchanged_all = 90 * kGiB;
  gpu.handovers = Handovers{12, 0.297, 0.5};
  return gpu;
}

inline Client TestingClient() {
  Client client;
  client.pid = 7501;
  client.name = "ana";
  client.command = "python train.py";
  client.job = "00000000000000aa";
  client.state = "running";
  client.resident = 40 * kGiB;
  client.swapped = 0;
  client.fixed = 2 * kGiB;
  client.policy = "weight 2";
  client.share = 0.88;
  client.share_wanted = 0.66;
  client.share_got = 0.7;
  client.waits = WaitTimes{0.25, 0.5, 1.5};
  client.turns = 4;
  client.ran_seconds = 12.5;
  client.waited_seconds = 3.5;
  client.copied_out = 200 * kGiB;
  client.copied_in = 190 * kGiB;
  client.use = {1.02, 14, 1, 3 * kGiB, 2 * kGiB, 4 * kGiB, 30.0 * kMiB, 12.0 * kMiB};
  return client;
}

inline Job TestingJob() {
  Job job;
  job.id = "sweep-3f2a";
  job.socket = "/run/user/1000/reveza/jobs/sweep-3f2a.sock";
  job.name = "sweep";
  job.state = "running";
  job.pid = 1234;
  job.began = 1790000000;
  job.folder = "/home/ana";
  job.command = "./simulate --seed {seed}";
  job.steps = {500, 56, 2, 440, 2, 0};
  job.workers = 2;
  job.best_workers = 2;
  job.workers_settled = false;
  job.workers_reason = "2 gave the most";
  job.rate = 1.25;
  job.eta_p50_seconds = 400;
  job.eta_p90_seconds = 520;
  job.waiting = "memory: 2.1 GiB are free, a step takes 3.0 GiB";
  Step step;
  step.number = 57;
  step.label = "seed=57";
  step.attempt = 1;
  step.pid = 4321;
  step.state = "running";
  step.since = 1790000100;
  step.memory = 2900 * kMiB;
  step.peak = 3100 * kMiB;
  step.claim = 3 * kGiB;
  step.cycle = CycleCount{3, 10};
  step.use = {0.97, 3, 2, 3 * kGiB, std::nullopt, 3 * kGiB, 0.0, 512.0 * kKiB};
  step.command = "./simulate --seed 57";
  job.running.push_back(step);
  Step unknown;
  unknown.number = 58;
  unknown.label = "seed=58";
  unknown.attempt = 2;
  unknown.state = "paused";
  job.running.push_back(unknown);
  job.metrics["phi"] = {56, 0.2, 0.55, 0.9, 0.61};
  return job;
}

inline Snapshot TestingSnapshot() {
  Snapshot snapshot;
  snapshot.time = 1790000200.25;
  snapshot.machine.cores = 16;
  snapshot.machine.cpu = 0.78;
  for (int i = 0; i < 16; ++i) snapshot.machine.each_core.push_back(i / 15.0);
  snapshot.machine.load = {{12.43, 9.08, 7.7}};
  snapshot.machine.memory = platform::MachineMemory{128 * kGiB, 32 * kGiB, Bytes{0}, Bytes{0}};
  snapshot.machine.cgroup_headroom = 20 * kGiB;
  const platform::PressureLine some{17.29, 12.15, 5.73, std::chrono::microseconds(260)};
  const platform::PressureLine full{0.5, 0.25, 0, std::chrono::microseconds(17)};
  snapshot.machine.pressure.cpu = platform::Pressure{some, full};
  snapshot.machine.pressure.memory = platform::Pressure{some, full};
  snapshot.machine.processes = 412;
  snapshot.daemon = Daemon{"/run/revezad.sock", "0.1.0", 7505, 65, 512 * kGiB, 24 * kGiB};
  snapshot.gpus.push_back(TestingGpu());
  snapshot.clients.push_back(TestingClient());
  Client waiting;
  waiting.pid = 7502;
  waiting.name = "bia";
  waiting.command = "python serve.py";
  waiting.job = "00000000000000bb";
  waiting.state = "waiting";
  waiting.why = "waiting for its turn: ana (pid 7501) has the GPU for 2.5 s more";
  waiting.resident = 18 * kGiB;
  waiting.swapped = 24 * kGiB;
  waiting.turns = 3;
  snapshot.clients.push_back(waiting);
  snapshot.used["ana"] = {12.5, 3.5};
  ExternalProcess outside;
  outside.pid = 99;
  outside.gpu = snapshot.gpus.front().uuid;
  outside.command = "/usr/bin/Xorg :0";
  outside.used = 6 * kGiB;
  snapshot.outside.push_back(outside);
  snapshot.jobs.push_back(TestingJob());
  snapshot.process_files_read = 412;
  snapshot.process_files_opened = 12;
  return snapshot;
}

}  // namespace reveza::monitor
