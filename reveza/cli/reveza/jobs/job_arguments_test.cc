#include "reveza/cli/reveza/jobs/job_arguments.h"

#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>

#include "common/platform/testing_directory.h"
#include "reveza/gpu/daemon/settings.h"
#include "reveza/jobs/definition/expander.h"

namespace reveza::cli {
namespace job_arguments_test {

using Arguments = std::vector<std::string>;

Surroundings Here(std::string input = "") {
  return {.folder = "/here",
          .standard_input = [input]() -> Result<std::string> { return input; },
          .cores = 4,
          .memory = 8 * kGiB,
          .gpu_memory = 16 * kGiB};
}

Result<ParsedRun> Parse(Arguments words, const Surroundings& surroundings = Here()) {
  words.insert(words.begin(), "run");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return ParseRun(static_cast<int>(words.size()), pointers.data(), surroundings);
}

std::string Refusal(Arguments words, const Surroundings& surroundings = Here()) {
  const auto parsed = Parse(std::move(words), surroundings);
  return parsed ? "" : parsed.error().message;
}

// The options before a command that is fine.
std::string RefusalOf(Arguments options) {
  options.insert(options.end(), {"--", "true"});
  return Refusal(std::move(options));
}

ParsedRun Good(Arguments words, const Surroundings& surroundings = Here()) {
  auto parsed = Parse(std::move(words), surroundings);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.value_or(ParsedRun{});
}

TEST(ParseRun, ParsesCommandAndParameters) {
  const auto run = Good({"--name", "sweep", "--", "./simulate", "--seed", "{seed}", ":::", "seed",
                         "1..3", ":::", "model", "a", "b"});
  EXPECT_EQ(run.job.name, "sweep");
  EXPECT_TRUE(run.named);
  ASSERT_EQ(run.job.commands.size(), 1u);
  EXPECT_EQ(run.job.commands[0].arguments, (Arguments{"./simulate", "--seed", "{seed}"}));
  EXPECT_EQ(run.job.commands[0].folder, "/here");
  ASSERT_EQ(run.job.steps.size(), 6u);
  EXPECT_EQ(run.job.steps[5].parameters,
            (std::vector<jobs::Parameter>{{"seed", "3"}, {"model", "b"}}));
  ASSERT_EQ(run.notes.size(), 1u);
  EXPECT_NE(run.notes[0].find("{model}"), std::string::npos) << run.notes[0];
}

TEST(ParseRun, MemoryMayDependOnParameters) {
  const auto run = Good({"--memory", "{mb}MiB", "--", "true", "{n}", ":::", "mb", "30", "320",
                         ":::+", "n", "1", "2"});
  EXPECT_EQ(run.job.commands[0].claim.memory, std::nullopt);
  EXPECT_EQ(run.notes, Arguments()) << "the claim uses {mb}";
  const auto expander = jobs::Expander::Make(run.job);
  const auto claimed = expander->Memory(run.job.steps[1]);
  ASSERT_TRUE(claimed && *claimed);
  EXPECT_EQ(**claimed, 320 * kMiB);
  const auto refusal = [](const std::string& memory, const std::string& value) {
    return Refusal({"--memory", memory, "--", "true", ":::", "mb", "1", value});
  };
  EXPECT_NE(refusal("{mb}MiB", "x").find("memory of step 2: "), std::string::npos);
  EXPECT_EQ(refusal("{mb}GiB", "9"),
            "memory of step 2: it needs 9 GiB and cannot run; this machine has 8 GiB");
  EXPECT_NE(refusal("{kb}MiB", "2").find("{kb}"), std::string::npos);
  EXPECT_NE(refusal("{step}MiB", "2").find("only contain parameters"), std::string::npos);
}

TEST(ParseRun, CommandWithoutParametersIsOneStep) {
  const auto run = Good({"make", "-j2", "--", "all"});
  EXPECT_EQ(run.job.commands[0].arguments, (Arguments{"make", "-j2", "--", "all"}));
  EXPECT_EQ(run.job.steps.size(), 1u);
  EXPECT_FALSE(run.named);
  EXPECT_EQ(run.job.name.find("make-"), 0u) << run.job.name;
}

TEST(ParseRun, ParsesRunOptions) {
  const auto request = Good({"--workers",
                             "3",
                             "--max-workers=8",
                             "--halt",
                             "soon,fail=10%",
                             "--on-unknown",
                             "hold",
                             "--retries",
                             "2",
                             "--retry-failed",
                             "--force",
                             "--rerun-if-program-changed",
                             "--memory-reserve",
                             "1GiB",
                             "--cpu-budget",
                             "1.5",
                             "--output",
                             "keep-order",
                             "--detach",
                             "--durable",
                             "--dry-run",
                             "--json",
                             "--quiet",
                             "--joblog",
                             "log",
                             "--output-folder",
                             "../out",
                             "--",
                             "true"})
                           .request;
  EXPECT_EQ(request.workers, 3u);
  EXPECT_EQ(request.max_workers, 8u);
  EXPECT_EQ(request.halt.mode, jobs::Halt::Mode::kSoon);
  EXPECT_EQ(request.halt.share, 0.1);
  EXPECT_EQ(request.halt.failures, std::nullopt);
  EXPECT_EQ(request.on_unknown, jobs::OnUnknown::kHold);
  EXPECT_EQ(request.retries, 2u);
  EXPECT_TRUE(request.retry_failed && request.force && request.rerun_if_program_changed);
  EXPECT_EQ(request.memory_reserve, kGiB);
  EXPECT_EQ(request.cpu_budget, 1.5);
  EXPECT_EQ(request.output, jobs::Output::kKeepOrder);
  EXPECT_TRUE(request.detach && request.durable && request.dry_run);
  EXPECT_TRUE(request.json && request.quiet);
  EXPECT_EQ(request.joblog, "/here/log");
  EXPECT_EQ(request.output_folder, "/out");
}

TEST(ParseRun, AbsentOptionsStayUnset) {
  const auto request = Good({"--workers", "auto", "--", "true"}).request;
  EXPECT_EQ(request.workers, std::nullopt);
  EXPECT_EQ(request.max_workers, std::nullopt);
  EXPECT_EQ(request.halt, jobs::Halt{});
  EXPECT_TRUE(request.joblog.empty() && request.output_folder.empty());
  EXPECT_EQ(Good({"-j", "2", "true"}).request.workers, 2u);
  EXPECT_EQ(Good({"-j2", "true"}).request.workers, 2u);
}

TEST(ParseRun, ParsesCommandOptions) {
  const auto run = Good({"--folder",   "runs/{seed}", "--env",          "A={seed}",
                         "--env",      "B=x=y",       "--identity-env", "MODEL",
                         "--input",    "in-{seed}",   "--time-limit",   "90s",
                         "--priority", "-3",          "--cpus",         "0.5",
                         "--memory",   "2GiB",        "--gpu-memory",   "1GiB",
                         "--cycles",   "500",         "--chain",        "50",
                         "--",         "simulate",    "{seed}",         "{from}",
                         "{to}",       ":::",         "seed",           "1"});
  const jobs::Command& command = run.job.commands.at(0);
  EXPECT_EQ(command.folder, "/here/runs/{seed}");
  EXPECT_EQ(command.environment,
            (std::vector<std::pair<std::string, std::string>>{{"A", "{seed}"}, {"B", "x=y"}}));
  EXPECT_EQ(command.identity_variables, Arguments{"MODEL"});
  EXPECT_EQ(command.inputs, Arguments{"in-{seed}"});
  EXPECT_EQ(command.time_limit, std::chrono::seconds(90));
  EXPECT_EQ(command.priority, -3);
  EXPECT_EQ(command.claim, (jobs::Claim{.cpus = 0.5, .memory = 2 * kGiB, .gpu_memory = kGiB}));
  EXPECT_EQ(command.cycles, (jobs::Cycles{.count = 500, .chain = 50}));
  EXPECT_TRUE(run.notes.empty());
}

TEST(ParseRun, ShellCommandIsOneLine) {
  const auto run = Good({"--shell", "--", "echo {x}", "|", "wc", ":::", "x", "1"});
  EXPECT_TRUE(run.job.commands[0].shell);
  EXPECT_EQ(run.job.commands[0].arguments, Arguments{"echo {x} | wc"});
}

TEST(ParseRun, ReadsCsvAndStandardInput) {
  platform::TestingDirectory folder;
  folder.Write("t.csv", "seed,name\n1,a\n2,b\n");
  Surroundings here = Here("x\ny\n");
  here.folder = folder.path();
  EXPECT_EQ(Good({"--csv", "t.csv", "echo", "{seed}", "{name}"}, here).job.steps.size(), 2u);
  EXPECT_EQ(Good({"--stdin", "echo", "{line}"}, here).job.steps.at(1).parameters,
            (std::vector<jobs::Parameter>{{"line", "y"}}));
  const auto all = Good(
      {"--csv", "t.csv", "--stdin", "echo", "{seed}{name}{line}{k}", ":::", "k", "1..3"}, here);
  ASSERT_EQ(all.job.steps.size(), 12u);
  EXPECT_EQ(
      all.job.steps[4].parameters,
      (std::vector<jobs::Parameter>{{"seed", "1"}, {"name", "a"}, {"line", "y"}, {"k", "2"}}));
  folder.Write("empty.csv", "seed\n");
  EXPECT_EQ(Refusal({"--csv", "empty.csv", "true"}, here), "empty.csv has no rows");
  EXPECT_EQ(Refusal({"--stdin", "true"}, Here("\n")), "--stdin: standard input has no lines");
  EXPECT_NE(Refusal({"--csv", "absent.csv", "true"}, here).find("cannot read"), std::string::npos);
}

TEST(ParseRun, ReadsAJobFile) {
  platform::TestingDirectory folder;
  folder.Write("job.toml", "run = 'echo {a}'\nparameters = { a = '1..3' }\nname = 'three'\n");
  folder.Write("wrong.toml", "run = 'echo {b}'\nparameters = { a = '1..3' }\n");
  folder.Write("huge.toml", "run = 'true'\nmemory = '1TiB'\n");
  Surroundings here = Here();
  here.folder = folder.path();
  const auto run = Good({"--job", "job.toml", "--workers", "2"}, here);
  EXPECT_EQ(run.job.name, "three");
  EXPECT_EQ(run.job.steps.size(), 3u);
  EXPECT_EQ(run.request.workers, 2u);
  EXPECT_EQ(Good({"--job", "job.toml", "--name", "other"}, here).job.name, "other");
  EXPECT_EQ(
      Refusal({"--job", "wrong.toml"}, here).find((folder / "wrong.toml").string() + ":1:7: "), 0u);
  EXPECT_NE(Refusal({"--job", "none.toml"}, here).find("cannot read"), std::string::npos);
  EXPECT_NE(Refusal({"--job", "huge.toml"}, here).find("1 TiB of memory"), std::string::npos);
  EXPECT_TRUE(Refusal({"--job", "job.toml", "--", "true"}, here).starts_with("--job job.toml"));
  EXPECT_TRUE(Refusal({"--job", "job.toml", "--cpus", "1"}, here).starts_with("--cpus"));
}

TEST(ParseRun, JobFileAndConfigurationCoexist) {
  // Both are read with the same library, in two ways of its own.
  daemon::Configuration configuration;
  EXPECT_TRUE(configuration.AddText("linger = \"60s\"\n", "config"));
  platform::TestingDirectory folder;
  folder.Write("job.toml", "[[steps]]\nname = 'a'\nrun = 'x'\n[[steps]]\nrun = 'y'\nafter = 'a'\n");
  Surroundings here = Here();
  here.folder = folder.path();
  EXPECT_EQ(Good({"--job", "job.toml"}, here).job.steps.size(), 2u);
}

TEST(ParseRun, RequiresACommand) {
  const auto expect_usage = [](const std::string& message) {
    EXPECT_TRUE(message.starts_with("no command given")) << message;
  };
  expect_usage(Refusal({}));
  expect_usage(Refusal({"--"}));
  expect_usage(Refusal({"--", ":::", "seed", "1"}));
  expect_usage(Refusal({"--quiet"}));
  EXPECT_EQ(RefusalOf({"--chain", "5"}).find("--chain requires --cycles"), 0u);
}

TEST(ParseRun, SuggestsTheNearestOption) {
  EXPECT_EQ(Refusal({"--worker", "3", "--", "true"}),
            "unknown option '--worker'; did you mean '--workers'?; see reveza jobs run --help");
  EXPECT_EQ(Refusal({"--cpu=3", "true"}).find("unknown option '--cpu=3'; did you mean '--cpus'?"),
            0u);
  EXPECT_EQ(RefusalOf({"-x"}).find("unknown option '-x'"), 0u);
  EXPECT_NE(Refusal({"--name"}), "");
}

TEST(ParseRun, RejectsInvalidValues) {
  EXPECT_EQ(RefusalOf({"--workers", "0"}), "--workers: '0' is not a whole number of at least 1");
  EXPECT_EQ(RefusalOf({"--workers", "many"}),
            "--workers: 'many' is not a whole number of at least 1");
  for (const char* option : {"--time-limit", "--memory", "--halt", "--retries", "--workers",
                             "--name", "--folder", "--output", "--input", "--csv"}) {
    EXPECT_TRUE(RefusalOf({option, ""}).contains("the value is empty")) << option;
    EXPECT_TRUE(RefusalOf({option + std::string("=")}).contains(option)) << option;
  }
  EXPECT_TRUE(RefusalOf({"--output", "none"}).contains("quiet"));
  EXPECT_NE(RefusalOf({"--workers", "99999999"}), "");
  EXPECT_NE(RefusalOf({"--max-workers", "-1"}), "");
  EXPECT_TRUE(RefusalOf({"--workers", "4", "--max-workers", "2"}).starts_with("--workers 4 "));
  for (const std::string halt : {"sometimes", "soon,3", "now,fail=0", "now,fail=101%",
                                 "soon,fail=", "now,fail=x", "soon,fail=0%"}) {
    EXPECT_EQ(RefusalOf({"--halt", halt}).find("--halt: '" + halt + "'"), 0u) << halt;
  }
  EXPECT_NE(RefusalOf({"--on-unknown", "drop"}), "");
  EXPECT_NE(RefusalOf({"--retries", "-1"}), "");
  EXPECT_EQ(RefusalOf({"--memory", "2"}).find("--memory: '2' has no unit"), 0u);
  EXPECT_EQ(RefusalOf({"--time-limit", "soon"}).find("--time-limit: "), 0u);
  EXPECT_NE(RefusalOf({"--time-limit", "0s"}), "");
  EXPECT_NE(RefusalOf({"--cpus", "0"}), "");
  EXPECT_NE(RefusalOf({"--cpu-budget", "nan"}), "");
  EXPECT_NE(RefusalOf({"--priority", "high"}), "");
  EXPECT_NE(RefusalOf({"--cycles", "0"}), "");
  EXPECT_NE(RefusalOf({"--env", "A"}).find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(RefusalOf({"--env", "=1"}), "");
  EXPECT_EQ(RefusalOf({"--env", "A=1", "--env", "A=2"}), "--env: 'A' is set twice");
  EXPECT_NE(RefusalOf({"--identity-env", "A=1"}), "");
  EXPECT_NE(RefusalOf({"--name", "a/b"}).find("job name"), std::string::npos);
  EXPECT_NE(RefusalOf({"--name", "..", "--quiet"}), "");
}

TEST(ParseRun, RejectsInvalidTemplates) {
  EXPECT_EQ(Refusal({"run", "{sed}", ":::", "seed", "1"}),
            "in '{sed}': unknown parameter '{sed}'; did you mean {seed}? (write {{sed}} for the "
            "literal text)");
  EXPECT_NE(Refusal({"run", "{}", ":::", "seed", "1"}).find("write {seed}"), std::string::npos);
  EXPECT_NE(Refusal({"run", "{from}"}).find("--cycles"), std::string::npos);
}

TEST(ParseRun, RejectsClaimsLargerThanTheMachine) {
  EXPECT_TRUE(RefusalOf({"--cpus", "5"}).starts_with("--cpus: a step that needs 5 cores"));
  EXPECT_TRUE(RefusalOf({"--memory", "9GiB"}).starts_with("--memory: a step that needs 9 GiB"));
  EXPECT_TRUE(RefusalOf({"--gpu-memory", "17GiB"}).starts_with("--gpu-memory: "));
  Surroundings unknown = Here();
  unknown.cores.reset();
  unknown.memory.reset();
  unknown.gpu_memory.reset();
  Good({"--cpus", "5", "--memory", "9GiB", "--gpu-memory", "17GiB", "true"}, unknown);
}

TEST(ParseRun, OnSlurmNeedsASharedFolder) {
  const auto run = Good({"--on", "slurm", "--shared", "all", "--", "true"});
  EXPECT_EQ(run.request.cluster, jobs::ClusterKind::kSlurm);
  EXPECT_EQ(run.request.shared_folder, "/here/all");
  EXPECT_TRUE(RefusalOf({"--on", "slurm"}).contains("requires --shared"));
  EXPECT_TRUE(RefusalOf({"--shared", "all"}).contains("--on"));
  EXPECT_TRUE(RefusalOf({"--on", "moon", "--shared", "all"}).contains("'moon'"));
  for (const Arguments& other :
       {Arguments{"--shard", "1/2"}, Arguments{"--export", "e"}, Arguments{"--output-folder", "o"},
        Arguments{"--memory-reserve", "1GiB"}, Arguments{"--cpu-budget", "2"},
        Arguments{"--cycles", "1", "--halt", "soon,loss<1"}}) {
    Arguments words{"--on", "slurm", "--shared", "all"};
    words.insert(words.end(), other.begin(), other.end());
    EXPECT_TRUE(RefusalOf(words).contains("cannot be combined with --on slurm")) << other[0];
  }
}

TEST(ParseRun, OnRayNeedsTheSame) {
  const auto run = Good({"--on", "ray", "--shared", "all", "--", "true"});
  EXPECT_EQ(run.request.cluster, jobs::ClusterKind::kRay);
  EXPECT_TRUE(RefusalOf({"--on", "ray"}).contains("--on ray requires --shared"));
  EXPECT_TRUE(RefusalOf({"--on", "ray", "--shared", "all", "--export", "x"})
                  .contains("cannot be combined with --on ray"));
  EXPECT_TRUE(RefusalOf({"--on", "spark", "--shared", "all"}).contains("write slurm, ray or"));
}

TEST(ParseRun, OnKubernetesStepsRunInPods) {
  const auto run = Good({"--on", "kubernetes", "--shared", "/all", "--image", "sim:1", "--volume",
                         "data:/all", "--volume", "/usr", "--pod-template", "pod.yaml", "true"});
  EXPECT_EQ(run.request.cluster, jobs::ClusterKind::kKubernetes);
  EXPECT_EQ(run.request.pods, (jobs::PodOptions{.image = "sim:1",
                                                .volumes = {"data:/all", "/usr"},
                                                .pod_template = "/here/pod.yaml"}));
  EXPECT_TRUE(RefusalOf({"--on", "kubernetes"}).contains("--on kubernetes requires --shared"));
  for (const Arguments& option :
       {Arguments{"--image", "x"}, Arguments{"--volume", "/x"}, Arguments{"--pod-template", "x"}}) {
    Arguments words{"--on", "slurm", "--shared", "all"};
    words.insert(words.end(), option.begin(), option.end());
    EXPECT_TRUE(RefusalOf(words).starts_with(option[0] + ": only --on kubernetes")) << option[0];
  }
}

TEST(ParseRun, OnSlurmNodesMayBeLarger) {
  const auto run = Good({"--on", "slurm", "--shared", "all", "--cpus", "64", "--memory", "500GiB",
                         "--gpu-memory", "40GiB", "--", "true"});
  EXPECT_EQ(run.job.commands[0].claim.cpus, 64);
}

TEST(ParseRun, WarnsIfCyclesIgnoreFrom) {
  EXPECT_EQ(Good({"--cycles", "5", "true"}).notes.size(), 1u);
  EXPECT_TRUE(Good({"--cycles", "5", "run", "{from}"}).notes.empty());
}

TEST(ParseRun, HelpIsNotAnError) {
  const auto run = Good({"--help"});
  for (const std::string_view word : {"--workers", "--cpus", ":::", "--dry-run"}) {
    EXPECT_NE(run.help.find(word), std::string::npos) << word;
  }
  EXPECT_TRUE(Good({"tool", "--help"}).help.empty()) << "it is the command's";
}

TEST(ThisMachine, IsDetected) {
  const Surroundings here = ThisMachine();
  EXPECT_TRUE(here.folder.is_absolute());
  EXPECT_GE(here.cores.value_or(0), 1);
  EXPECT_GT(here.memory.value_or(0), kMiB);
}

}  // namespace job_arguments_test
}  // namespace reveza::cli
