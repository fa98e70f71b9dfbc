#include "run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "base/units.h"
#include "device.h"
#include "exit_status.h"
#include "free_memory.h"
#include "phi/cycles/cpu_engine.h"
#include "phi/run/run_memory.h"
#include "phi/run/runner.h"
#include "platform/stop_signals.h"
#include "reveza_step.h"

namespace reveza::phi {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostGraphCycles = 1024;

constexpr int kAsManyAsHelp = 0;
// With fewer runs a thread, threads would wait for each other several times in a cycle, which is
// for idle machines only.
constexpr int kRunsOfThread = 8;

struct Typed {
  RunSettings settings;
  std::string measures = "phi_legacy";
  std::string format = "csv";
  std::string folder;
  std::string legacy_json;
  std::string kernel = "auto";
  std::string device = "cpu";
  int graph_cycles = GpuOptions{}.graph_cycles;
  int threads = kAsManyAsHelp;
  std::uint64_t from = 1;
  bool steps = false;
  bool quiet = false;
  bool json = false;
};

void AddModel(CLI::App& app, Typed& typed) {
  EngineSettings& engine = typed.settings.engine;
  CycleConstants& constants = engine.constants;
  app.add_option("-c,--cycles", typed.settings.cycles, "of each run; 500 unless given")
      ->type_name("N");
  app.add_option("-r,--runs", engine.runs, "runs side by side, each with its own noise; else 1")
      ->type_name("N");
  app.add_option("-d,--dimension", constants.dimension, "elements of a module; else 768")
      ->type_name("N");
  app.add_option("--seed", engine.seed, "what all is a function of; else 1")->type_name("N");
  app.add_option("--first-run", engine.first_run, "the number of the first run; else 0")
      ->type_name("N");
  app.add_option("--temperature", constants.temperature, "of Langevin noise; else 0.0005")
      ->type_name("T");
  app.add_option("--repression", constants.repression, "of the unconscious, 0 to 1; else 0.8")
      ->type_name("R");
  app.add_option("--decay", constants.decay, "of the preconscious, 0 to 1; else 0.95")
      ->type_name("X");
  app.add_option("--least-variance", constants.least_variance,
                 "of a module's step; less is filled up with noise; else 0.001")
      ->type_name("V");
  app.add_option("--feedback", constants.feedback,
                 "how much of imagination the first module reads; else 0, as in the original")
      ->type_name("X");
}

void AddMeasures(CLI::App& app, Typed& typed) {
  app.add_option(
         "-m,--measure", typed.measures,
         "some of phi_legacy, i, mi, si, wms, phi_r, phi_g, phi_star with commas; all; none")
      ->type_name("NAMES");
  app.add_option("--window", typed.settings.window, "cycles that a measure looks at; else 50")
      ->type_name("N");
  app.add_option("--every", typed.settings.every, "cycles between two values of it; else 50")
      ->type_name("N");
  app.add_option("--lag,--tau", typed.settings.lag, "cycles from past to present; else 1")
      ->type_name("N");
  app.add_flag("--mip", typed.settings.minimum,
               "at each measure's minimum bipartition, not with each module alone");
}

void AddOutput(CLI::App& app, Typed& typed) {
  app.add_option("-o,--output", typed.folder,
                 "folder for rows, summary.json and checkpoint; - for rows on standard output; "
                 "nothing is kept without it")
      ->type_name("FOLDER");
  app.add_option("-f,--format", typed.format, "of rows: csv, jsonl or parquet; else csv")
      ->type_name("NAME");
  app.add_option("--legacy-json", typed.legacy_json,
                 "write the first run in the original program's layout, too")
      ->type_name("FILE");
  app.add_option("-k,--checkpoint-every", typed.settings.checkpoint_every,
                 "cycles between two checkpoints; else 50")
      ->type_name("N");
  app.add_flag_callback(
      "--resume", [] {}, "go on from the folder's checkpoint, which is done anyway");
  app.add_flag("--fresh", typed.settings.fresh, "begin anew where a checkpoint stands");
  app.add_flag("--allow-drift", typed.settings.allow_drift,
               "go on from a checkpoint whose version computes other numbers");
  app.add_flag("-q,--quiet", typed.quiet, "say nothing but errors");
  app.add_flag("--json", typed.json, "the summary as JSON");
}

void AddMachine(CLI::App& app, Typed& typed) {
  app.add_option("-w,--threads", typed.threads,
                 "which change no bit; else OMP_NUM_THREADS or one a core, with 8 runs for each")
      ->type_name("N");
  app.add_option("--kernel", typed.kernel,
                 "plain, avx2 or avx512, which change no bit; else what the processor has")
      ->type_name("NAME");
  app.add_option("--device", typed.device, "cpu, gpu, gpu:N or auto, which change no bit; else cpu")
      ->type_name("NAME");
  app.add_option("--graph-cycles", typed.graph_cycles,
                 "cycles in one CUDA graph; 0: each kernel is launched alone; else 16")
      ->type_name("N");
  app.add_flag("--steps", typed.steps, "report each cycle to `reveza jobs`, once it is kept");
  app.add_option("--from", typed.from, "with --steps: report cycles from this one on; {from}")
      ->type_name("N");
}

// OMP_NUM_THREADS, which runners of several programs set to a program's share; else all cores.
int CoresForUs() {
  const char* named = std::getenv("OMP_NUM_THREADS");
  const int share = named == nullptr ? 0 : std::atoi(named);
  if (share >= 1 && share <= kMostThreads) return share;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

Status Understand(Typed& typed, CpuOptions& options) {
  if (typed.graph_cycles < 0 || typed.graph_cycles > kMostGraphCycles) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("--graph-cycles: {} is not right; take 0 to {}", typed.graph_cycles,
                            kMostGraphCycles));
  }
  if (typed.threads == kAsManyAsHelp) {
    typed.threads = std::clamp(typed.settings.engine.runs / kRunsOfThread, 1, CoresForUs());
  }
  if (typed.threads < 1 || typed.threads > kMostThreads) {
    return Fail(
        Error::Code::kInvalidArgument,
        fmt::format("--threads: {} is not right; take 1 to {}", typed.threads, kMostThreads));
  }
  options.threads = typed.threads;
  if (typed.kernel != "auto") {
    const auto named = InstructionsOf(typed.kernel);
    if (!named) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("there is no kernel '{}'; take plain, avx2 or avx512", typed.kernel));
    }
    options.instructions = *named;
  }
  if (auto set = SetMeasures(typed.measures, typed.settings); !set) return set;
  const auto format = RowFormatOf(typed.format);
  if (!format) return std::unexpected(format.error());
  typed.settings.format = *format;
  typed.settings.folder = typed.folder;
  if (!typed.legacy_json.empty()) typed.settings.legacy_json = typed.legacy_json;
  if (typed.folder == "-" && typed.settings.format == RowFormat::kParquet) {
    return Fail(Error::Code::kInvalidArgument,
                "Parquet needs a folder; take csv or jsonl for standard output");
  }
  return Prepare(typed.settings);
}

// A line that moves on a terminal; elsewhere nothing.
class Progress {
 public:
  explicit Progress(bool quiet) : shows_(!quiet && isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(const RunProgress& now, int runs) {
    if (!shows_ || now.cycle == now.begun) return;
    const double rate = static_cast<double>(now.cycle - now.begun) / std::max(now.seconds, 1e-3);
    const std::chrono::duration<double> left(static_cast<double>(now.cycles - now.cycle) / rate);
    fmt::print(stderr, "\r\x1b[Kcycle {} of {}, {:.0f} run-cycles/s, {} left", now.cycle,
               now.cycles, rate * runs,
               FormatDuration(std::chrono::duration_cast<std::chrono::nanoseconds>(left)));
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  bool shows_;
  bool shown_ = false;
};

void ReportStep(const RunSettings& settings, const CycleMeans& means) {
  const std::vector<std::string> names = MeasureNames(settings);
  std::vector<reveza_metric> metrics;
  for (std::size_t i = 0; i < names.size(); ++i) {
    metrics.push_back({names[i].c_str(), means.values[i]});
  }
  reveza_step(means.cycle, metrics.data(), metrics.size());
}

void SayOutcome(const RunSettings& settings, const RunOutcome& outcome) {
  // Where rows go to standard output, the rest goes beside them.
  std::FILE* to = settings.folder == "-" ? stderr : stdout;
  const std::chrono::duration<double> took(outcome.seconds);
  fmt::print(to, "{} cycles of {} run{} in {}, {}\n", outcome.cycle, settings.engine.runs,
             settings.engine.runs == 1 ? "" : "s",
             FormatDuration(std::chrono::duration_cast<std::chrono::nanoseconds>(took)),
             outcome.engine);
  fmt::print(to, "{}", MeasuresText(settings, outcome));
  fmt::print(to, "state        {:016x}{}\n", outcome.hashes.front(),
             outcome.hashes.size() == 1 ? "" : " (of the first run)");
  if (settings.Keeps()) fmt::print(to, "kept in      {}\n", settings.folder.string());
}

int RunTyped(Typed& typed) {
  CpuOptions options;
  if (auto understood = Understand(typed, options); !understood) return Say(understood.error());
  const RunSettings& settings = typed.settings;
  const auto device = DeviceOf(typed.device);
  if (!device) return Say(device.error());
  const GpuOptions gpu = {.graph_cycles = typed.graph_cycles};
  const Bytes held = HostBytesOf(*device, settings.engine, options, gpu);
  if (auto fits = CheckMemory(settings, held, FreeMemory()); !fits) return Say(fits.error());
  platform::StopSignals signals;
  auto engine = MakeEngine(*device, settings.engine, options, gpu);
  if (!engine) return Say(engine.error());
  Progress progress(typed.quiet);
  RunEvents events;
  events.progress = [&](const RunProgress& now) { progress.Show(now, settings.engine.runs); };
  events.stop = [&] { return signals.Came() != 0; };
  if (typed.steps) {
    events.settled = [&](const CycleMeans& means) {
      if (means.cycle >= typed.from) ReportStep(settings, means);
    };
  }
  const auto outcome = Run(settings, **engine, REVEZA_VERSION, options.threads, events);
  if (!outcome) return Say(outcome.error());
  if (typed.json) {
    fmt::print("{}", SummaryText(settings, REVEZA_VERSION, *outcome));
  } else if (!typed.quiet) {
    SayOutcome(settings, *outcome);
  }
  const std::string empty = UnmeasuredText(settings, *outcome);
  if (!typed.quiet && !empty.empty()) fmt::print(stderr, "phi: {}\n", empty);
  if (outcome->finished) return kDone;
  const int signal = signals.Came();
  if (!typed.quiet) {
    Say(signal == SIGTERM ? kTerminated : kInterrupted,
        settings.Keeps()
            ? fmt::format("stopped at cycle {} of {}; the same command goes on there",
                          outcome->cycle, settings.cycles)
            : fmt::format("stopped at cycle {} of {}; nothing is kept without --output",
                          outcome->cycle, settings.cycles));
  }
  return signal == SIGTERM ? kTerminated : kInterrupted;
}

}  // namespace

std::function<int()> AddRunCommand(CLI::App& options) {
  const auto typed = std::make_shared<Typed>();
  AddModel(options, *typed);
  AddMeasures(options, *typed);
  AddOutput(options, *typed);
  AddMachine(options, *typed);
  options.footer("For example:  phi run --cycles 500 --runs 256 --measure si,phi_r,phi_g -o runs/");
  return [typed] { return RunTyped(*typed); };
}

}  // namespace reveza::phi
