#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "common/base/units.h"
#include "common/platform/stop_signals.h"
#include "phi/cli/commands.h"
#include "phi/cli/progress_line.h"
#include "phi/cycles/engine.h"
#include "phi/run/device.h"
#include "phi/run/runner.h"
#include "phi/run/settings.h"
#include "reveza_step.h"

namespace reveza::phi {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxGraphCycles = 1024;

constexpr int kAutoThreads = 0;

struct RunArguments {
  RunSettings settings;
  std::string measures = "phi_legacy";
  std::string format = "csv";
  std::string folder;
  std::string kernel = "auto";
  std::string device = "cpu";
  int graph_cycles = GpuOptions{}.graph_cycles;
  int threads = kAutoThreads;
  std::uint64_t from = 1;
  bool steps = false;
  bool quiet = false;
  bool json = false;
};

void AddModel(CLI::App& app, RunArguments& arguments) {
  EngineSettings& engine = arguments.settings.engine;
  CycleConstants& constants = engine.constants;
  AddDefaulted(app, "-c,--cycles", arguments.settings.cycles, "cycles per run", "INT");
  AddDefaulted(app, "-r,--runs", engine.runs, "independent runs, each with its own noise", "INT");
  AddDefaulted(app, "-d,--dimension", constants.dimension, "elements per module", "INT");
  AddDefaulted(app, "--seed", engine.seed, "random seed; determines every result", "INT");
  AddDefaulted(app, "--first-run", engine.first_run, "index of the first run", "INT");
  AddDefaulted(app, "--temperature", constants.temperature, "temperature of the Langevin noise",
               "FLOAT");
  AddDefaulted(app, "--repression", constants.repression, "repression of the unconscious, 0 to 1",
               "FLOAT");
  AddDefaulted(app, "--decay", constants.decay, "decay of the preconscious, 0 to 1", "FLOAT");
  AddDefaulted(app, "--least-variance", constants.min_variance,
               "minimum variance of a module's step; noise makes up the difference", "FLOAT");
  AddDefaulted(app, "--feedback", constants.feedback,
               "weight of imagination in the input of the first module", "FLOAT");
}

void AddMeasures(CLI::App& app, RunArguments& arguments) {
  AddDefaulted(
      app, "-m,--measure", arguments.measures,
      "comma-separated measures: phi_legacy, i, mi, si, wms, phi_r, phi_g, phi_star; or all, "
      "or none",
      "MEASURE,...");
  AddDefaulted(app, "--window", arguments.settings.window, "cycles per measured window", "INT");
  AddDefaulted(app, "--every", arguments.settings.every, "cycles between measured windows", "INT");
  AddDefaulted(app, "--lag,--tau", arguments.settings.lag, "lag from past to present, in cycles",
               "INT");
  app.add_flag("--mip", arguments.settings.minimum,
               "evaluate each measure at its minimum bipartition instead of the atomic partition");
}

void AddOutput(CLI::App& app, RunArguments& arguments) {
  AddOption(app, "-o,--output", arguments.folder, "FOLDER",
            "folder for rows, summary.json and the checkpoint; - writes rows to standard "
            "output; default: nothing is saved");
  AddDefaulted(app, "-f,--format", arguments.format, "row format", "csv|parquet");
  AddDefaulted(app, "-k,--checkpoint-every", arguments.settings.checkpoint_every,
               "cycles between checkpoints", "INT");
  app.add_flag("--fresh", arguments.settings.fresh,
               "discard the folder's checkpoint and rows, and start over");
  app.add_flag("-q,--quiet", arguments.quiet, "print errors only");
  app.add_flag("--json", arguments.json, "print the summary as JSON");
}

void AddMachine(CLI::App& app, RunArguments& arguments) {
  AddOption(app, "-w,--threads", arguments.threads, "N",
            "worker threads; default: OMP_NUM_THREADS or all cores, with at least 8 runs per "
            "thread");
  AddDefaulted(app, "--kernel", arguments.kernel, "CPU kernel; auto is the best supported",
               "auto|plain|avx2|avx512");
  AddDefaulted(app, "--device", arguments.device,
               "device; auto is a GPU if available, else the CPU", "auto|cpu|gpu|gpu:N");
  AddDefaulted(app, "--graph-cycles", arguments.graph_cycles,
               "cycles per CUDA graph; 0 launches kernels individually", "INT");
  app.add_flag("--steps", arguments.steps, "report each saved cycle to `reveza jobs`");
  AddDefaulted(app, "--from", arguments.from,
               "with --steps: first cycle to report; pass {from} in a job", "INT");
}

Status ResolveArguments(RunArguments& arguments, CpuOptions& options) {
  if (arguments.graph_cycles < 0 || arguments.graph_cycles > kMaxGraphCycles) {
    return InvalidArgument("--graph-cycles: {} is out of range; use 0 to {}",
                           arguments.graph_cycles, kMaxGraphCycles);
  }
  if (arguments.threads == kAutoThreads) {
    arguments.threads = DefaultThreads(arguments.settings.engine.runs);
  }
  if (arguments.threads < 1 || arguments.threads > kMaxThreads) {
    return InvalidArgument("--threads: {} is out of range; use 1 to {}", arguments.threads,
                           kMaxThreads);
  }
  options.threads = arguments.threads;
  if (arguments.kernel != "auto") {
    const auto named = ParseInstructions(arguments.kernel);
    if (!named) {
      return InvalidArgument("--kernel: unknown kernel '{}'; use plain, avx2 or avx512",
                             arguments.kernel);
    }
    options.instructions = *named;
  }
  RETURN_IF_ERROR(SetMeasures(arguments.measures, arguments.settings));
  ASSIGN_OR_RETURN(arguments.settings.format, ParseRowFormat(arguments.format));
  arguments.settings.folder = arguments.folder;
  if (arguments.folder == "-" && arguments.settings.format == RowFormat::kParquet) {
    return InvalidArgument("Parquet cannot be written to standard output; use csv, or a folder");
  }
  return Prepare(arguments.settings);
}

std::string ProgressText(const RunProgress& now, int runs) {
  const double rate = static_cast<double>(now.cycle - now.begun) / std::max(now.seconds, 1e-3);
  const std::chrono::duration<double> left(static_cast<double>(now.cycles - now.cycle) / rate);
  return fmt::format("cycle {} of {}, {:.0f} run-cycles/s, {} left", now.cycle, now.cycles,
                     rate * runs,
                     FormatDuration(std::chrono::duration_cast<std::chrono::nanoseconds>(left)));
}

void ReportStep(const RunSettings& settings, const CycleMeans& means) {
  const std::vector<std::string> names = MeasureNames(settings);
  std::vector<reveza_metric> metrics;
  for (std::size_t i = 0; i < names.size(); ++i) {
    metrics.push_back({names[i].c_str(), means.values[i]});
  }
  reveza_step(means.cycle, metrics.data(), metrics.size());
}

void PrintOutcome(const RunSettings& settings, const RunOutcome& outcome) {
  // With rows on standard output, the outcome goes to standard error.
  std::FILE* to = settings.folder == "-" ? stderr : stdout;
  const std::chrono::duration<double> took(outcome.seconds);
  fmt::print(to, "{} cycles of {} run{} in {}, {}\n", outcome.cycle, settings.engine.runs,
             settings.engine.runs == 1 ? "" : "s",
             FormatDuration(std::chrono::duration_cast<std::chrono::nanoseconds>(took)),
             outcome.engine);
  fmt::print(to, "{}", MeasuresText(settings, outcome));
  fmt::print(to, "state        {:016x}{}\n", outcome.hashes.front(),
             outcome.hashes.size() == 1 ? "" : " (of the first run)");
  if (settings.Keeps()) fmt::print(to, "saved in     {}\n", settings.folder.string());
}

Result<int> RunCycles(RunArguments& arguments) {
  CpuOptions options;
  RETURN_IF_ERROR(ResolveArguments(arguments, options));
  const RunSettings& settings = arguments.settings;
  ASSIGN_OR_RETURN(const auto device, ParseDevice(arguments.device));
  const GpuOptions gpu = {.graph_cycles = arguments.graph_cycles};
  const Bytes held = MaxHostBytes(device, settings.engine, options, gpu);
  RETURN_IF_ERROR(CheckMemory(settings, held, FreeMemory()));
  platform::StopSignals signals;
  ASSIGN_OR_RETURN(const auto engine, MakeEngine(device, settings.engine, options, gpu));
  ProgressLine progress(arguments.quiet);
  RunEvents events;
  events.progress = [&](const RunProgress& now) {
    if (now.cycle > now.begun) progress.Show(ProgressText(now, settings.engine.runs));
  };
  events.stop = [&] { return signals.Received() != 0; };
  if (arguments.steps) {
    events.committed = [&](const CycleMeans& means) {
      if (means.cycle >= arguments.from) ReportStep(settings, means);
    };
  }
  ASSIGN_OR_RETURN(const auto outcome,
                   Run(settings, *engine, REVEZA_VERSION, options.threads, events));
  if (arguments.json) {
    fmt::print("{}", SummaryText(settings, REVEZA_VERSION, outcome));
  } else if (!arguments.quiet) {
    PrintOutcome(settings, outcome);
  }
  const std::string empty = UnmeasuredText(settings, outcome);
  if (!arguments.quiet && !empty.empty()) fmt::print(stderr, "phi: {}\n", empty);
  if (outcome.finished) return kDone;
  const ExitStatus stopped = signals.Received() == SIGTERM ? kTerminated : kInterrupted;
  if (!arguments.quiet) {
    PrintError("phi", stopped,
               fmt::format("stopped at cycle {} of {}; {}", outcome.cycle, settings.cycles,
                           settings.Keeps() ? "run the same command to resume"
                                            : "nothing was saved (no --output)"));
  }
  return stopped;
}

}  // namespace

Action AddRunCommand(CLI::App& options) {
  const auto arguments = std::make_shared<RunArguments>();
  AddModel(options, *arguments);
  AddMeasures(options, *arguments);
  AddOutput(options, *arguments);
  AddMachine(options, *arguments);
  options.footer(
      "Example:\n"
      "  phi run --cycles 500 --runs 256 --measure si,phi_r,phi_g -o results/\n"
      "Results are bit-identical for any number of threads, kernel, device and batch of runs.");
  return [arguments] { return RunCycles(*arguments); };
}

}  // namespace reveza::phi
