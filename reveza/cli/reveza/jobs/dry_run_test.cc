#include "reveza/cli/reveza/jobs/dry_run.h"

#include <gtest/gtest.h>

namespace reveza::cli {
namespace dry_run_test {

DryRunView View() {
  return {.topology = {{.number = 0, .cores = {0, 1, 2, 3}}},
          .cores = 4,
          .environment = [](const char* name) -> std::optional<std::string> {
            if (std::string_view(name) == "MKL_NUM_THREADS") return "3";
            if (std::string_view(name) == "TOKEN") return "a secret";
            return std::nullopt;
          },
          .root = "/no machine"};
}

ParsedRun Seeds(int count) {
  ParsedRun run;
  run.job.name = "sweep";
  run.named = true;
  auto& command = run.job.commands.emplace_back();
  command.arguments = {"./simulate", "--seed", "{seed}", "{from}-{to}"};
  command.folder = "/here";
  command.environment = {{"A", "x {seed}"}};
  command.identity_variables = {"TOKEN"};
  command.claim.memory = 2 * kGiB;
  command.cycles = jobs::Cycles{.count = 500, .chain = 50};
  for (int i = 1; i <= count; ++i) {
    run.job.steps.emplace_back().parameters = {{"seed", std::to_string(i)}};
  }
  run.request.workers = 2;
  run.request.limits = jobs::Limits::kWatch;
  return run;
}

TEST(DryRunText, KnowsNothingOfNodes) {
  ParsedRun run = Seeds(5);
  run.request.cluster = jobs::ClusterKind::kSlurm;
  run.request.shared_folder = "/all";
  const std::string text = DryRunText(run, View());
  EXPECT_TRUE(text.contains("  on         Slurm; outputs in /all/sweep\n")) << text;
  EXPECT_FALSE(text.contains("OMP_NUM_THREADS"));
}

TEST(DryRunText, DescribesJobStepsAndEnvironment) {
  EXPECT_EQ(DryRunText(Seeds(5), View()), R"(job sweep: 5 steps, 1 command
  workers    2
  limits     watched once a second

  command    ./simulate --seed {seed} {from}-{to}
  folder     /here
  claims     cores learned, memory 2 GiB, GPU memory learned
  memory     limited to 2.2 GiB per step
  cycles     500, 50 per process

  step 1     A='x 1' ./simulate --seed 1 1-50
  step 2     A='x 2' ./simulate --seed 2 1-50
  step 3     A='x 3' ./simulate --seed 3 1-50
  ...        2 more

environment
  OMP_NUM_THREADS=2            threads of OpenMP for a share of 2 cores
  OPENBLAS_NUM_THREADS=2       threads of OpenBLAS for a share of 2 cores
  NUMEXPR_NUM_THREADS=2        threads of NumExpr for a share of 2 cores
  RAYON_NUM_THREADS=2          threads of Rayon for a share of 2 cores
  POLARS_MAX_THREADS=2         threads of Polars for a share of 2 cores
  GOMAXPROCS=2                 threads of Go for a share of 2 cores
  JULIA_NUM_THREADS=2          threads of Julia for a share of 2 cores
  MALLOC_ARENA_MAX=2           by default glibc creates up to 8 arenas per core of the machine, in each worker
  MKL_NUM_THREADS=3            set by you; exceeds its share of 2 cores: 2 workers will oversubscribe the cores
  A=x {seed}                   set by the job
  TOKEN=...                    part of each step's identity
  cores                        any core: a single NUMA node

dry run: nothing was started
)");
}

TEST(DryRunText, NeverShowsTheValueOfAnIdentityVariable) {
  EXPECT_EQ(DryRunText(Seeds(1), View()).find("a secret"), std::string::npos);
}

TEST(DryRunText, DescribesAutomaticWorkers) {
  ParsedRun run = Seeds(1);
  run.request.workers.reset();
  run.request.max_workers = 3;
  run.named = false;
  run.notes = {"something"};
  const std::string text = DryRunText(run, View());
  EXPECT_NE(text.find("1 step, 1 command (name derived from the command)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("auto, at most 3"), std::string::npos);
  EXPECT_NE(text.find("environment with 3 workers"), std::string::npos);
  EXPECT_NE(text.find("OMP_NUM_THREADS=1"), std::string::npos) << "one for each core";
  EXPECT_NE(text.find("note: something\n"), std::string::npos);
  EXPECT_EQ(text.find(" more\n"), std::string::npos) << "all steps are shown";
}

TEST(DryRunText, ShowsTheNumaNodeOfEachWorker) {
  DryRunView view = View();
  view.topology = {{.number = 0, .cores = {0, 1, 2, 3}}, {.number = 1, .cores = {4, 5, 6, 7}}};
  view.cores = 8;
  ParsedRun run = Seeds(1);
  run.request.workers = 3;
  EXPECT_NE(DryRunText(run, view).find(
                "  cores                        workers 1 to 2: the 4 cores of NUMA node 0, "
                "for local memory\n"
                "  cores                        worker 3: the 4 cores of NUMA node 1, "),
            std::string::npos)
      << DryRunText(run, view);
  run.request.workers.reset();  // one for each core
  EXPECT_NE(DryRunText(run, view).find("workers 5 to 8: the 4 cores of NUMA node 1"),
            std::string::npos)
      << DryRunText(run, view);
  // GPU jobs start with two workers, whatever the number of cores.
  run.job.commands[0].claim.gpu_memory = kGiB;
  EXPECT_NE(DryRunText(run, view).find(" worker 2: the 4 cores of NUMA node 1"), std::string::npos)
      << DryRunText(run, view);
}

TEST(DryRunText, ExplainsCudaVisibleDevices) {
  ParsedRun run = Seeds(1);
  EXPECT_EQ(DryRunText(run, View()).find("CUDA_VISIBLE_DEVICES"), std::string::npos);
  run.job.commands[0].claim.gpu_memory = kGiB;
  EXPECT_NE(DryRunText(run, View())
                .find("  CUDA_VISIBLE_DEVICES=...     the GPU with the most free memory when the "
                      "step starts\n"),
            std::string::npos);
  DryRunView view = View();
  view.environment = [](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "CUDA_VISIBLE_DEVICES") return "MIG-1";
    return std::nullopt;
  };
  EXPECT_NE(DryRunText(run, view).find("  CUDA_VISIBLE_DEVICES=MIG-1   set by you\n"),
            std::string::npos)
      << DryRunText(run, view);
  run.job.commands[0].environment = {{"CUDA_VISIBLE_DEVICES", "2,3"}};
  const std::string text = DryRunText(run, view);
  EXPECT_NE(text.find("  CUDA_VISIBLE_DEVICES=2,3     set by the job\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("MIG"), std::string::npos) << text;
}

TEST(DryRunText, DescribesMemoryLimits) {
  ParsedRun run = Seeds(1);
  run.request.limits = jobs::Limits::kAuto;
  EXPECT_NE(DryRunText(run, View()).find("(no control groups: none are mounted; "),
            std::string::npos);
  run.request.limits = jobs::Limits::kCgroup;
  EXPECT_NE(DryRunText(run, View()).find("none are mounted"), std::string::npos);
  run.request.limits = jobs::Limits::kNone;
  const std::string text = DryRunText(run, View());
  EXPECT_NE(text.find("limits     none\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("limited to"), std::string::npos) << text;
}

TEST(DryRunText, ShowsShellCommandsAndDependencies) {
  ParsedRun run = Seeds(2);
  run.job.commands[0] = {};
  run.job.commands[0].shell = true;
  run.job.commands[0].arguments = {"echo {seed} | wc"};
  run.job.steps[1].after = {0};
  const std::string text = DryRunText(run, View());
  EXPECT_NE(text.find("command    /bin/sh -c 'echo {seed} | wc'"), std::string::npos) << text;
  EXPECT_NE(text.find("step 2     /bin/sh -c 'echo 2 | wc'   (after 1 step)"), std::string::npos);
}

TEST(DryRunText, DescribesTheLocalMachine) {
  EXPECT_NE(DryRunText(Seeds(1)).find("nothing was started"), std::string::npos);
}

}  // namespace dry_run_test
}  // namespace reveza::cli
