#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/units.h"
#include "common/platform/machine.h"
#include "common/platform/runtime_paths.h"
#include "common/platform/temporary_folder.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/cli/reveza/demo/demo_picture.h"
#include "reveza/cli/reveza/demo/demo_programs.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/gpu_probe.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

const std::vector<std::string> kNames = {"ana", "bia", "caio"};
constexpr int kStepMs = 100;
// Programs are not always on the GPU: each of these waits for data before every few steps.
constexpr int kLoadEvery = 8;
constexpr int kLoadMs = 900;
// Limits a large GPU, so that three programs fit into host memory, and so that handovers and time
// slices, which depend on their cost, are short enough to watch.
constexpr Bytes kMaxBudget = 8 * kGiB;
constexpr const char* kHandoverShare = "0.1";
// On a busy machine fakecuda's copies are slow; time slices would grow as long as a program.
constexpr const char* kFakecudaSliceCeiling = "2s";

// Set by the signal handler.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void OnSignal(int) { interrupted = true; }

void CatchInterrupts() {
  struct sigaction action{};
  action.sa_handler = OnSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// Which GPU the demo uses, how large its programs are, where its files are.
struct DemoSetup {
  DemoResult result;
  fs::path worker;
  std::uint64_t steps = 0;  // of each program
  std::map<std::string, std::string> environment;
  std::vector<std::string> daemon_flags;
  fs::path socket;
  bool live = false;   // redraw a picture instead of printing lines
  bool quiet = false;  // print only the result
};

std::optional<std::string> FakecudaFolder() {
  const fs::path base = platform::ProgramFolder().parent_path() / "lib";
  for (const char* place : {"fakecuda", "reveza/fakecuda"}) {
    std::error_code error;
    if (fs::exists(base / place / "libcuda.so.1", error)) return (base / place).string();
  }
  return std::nullopt;
}

CommandResult<DemoSetup> MakeSetup(const fs::path& folder, bool as_json) {
  DemoSetup setup;
  setup.socket = folder / "run" / "revezad.sock";
  setup.worker = platform::ProgramFolder() / "reveza-demo-worker";
  setup.quiet = as_json;
  setup.live = !as_json && isatty(STDOUT_FILENO) != 0;
  setup.daemon_flags = {"--linger", "5s", "--usage-file", "off"};
  DemoResult& result = setup.result;
  Bytes context = 4 * kMiB;
  setup.steps = 2 * kLoadEvery;
  if (const auto gpu = ProbeGpu()) {
    result.real_gpu = true;
    result.device = gpu->name;
    context = 700 * kMiB;
    setup.steps = 4 * kLoadEvery;
    const Bytes host = platform::MemoryHeadroom().value_or(4 * kGiB);
    result.card = std::min({gpu->total / 4 * 3, kMaxBudget, host / 3});
    setup.daemon_flags.insert(
        setup.daemon_flags.end(),
        {"--gpu-budget", fmt::format("{}B", result.card), "--handover-share", kHandoverShare});
  } else {
    const auto library = FakecudaFolder();
    if (!library) {
      return Failure(kNoLibrary, "no GPU found, and fakecuda is not installed");
    }
    result.device = "fakecuda, a simulated GPU";
    result.card = 88 * kMiB;
    setup.daemon_flags.insert(setup.daemon_flags.end(),
                              {"--context-estimate", fmt::format("{}B", context), "--slice-ceiling",
                               kFakecudaSliceCeiling});
    fs::create_directory(folder / "fakecuda");
    setup.environment = {{"LD_LIBRARY_PATH", *library},
                         {"FAKECUDA_DIR", (folder / "fakecuda").string()},
                         {"FAKECUDA_MEMORY", "96MiB"},
                         {"FAKECUDA_LINK", "4e9"}};
  }
  // Three contexts stay resident; each program allocates three quarters of the rest.
  result.each = RoundUp((result.card - 3 * context) / 4 * 3, 2 * kMiB);
  return setup;
}

std::vector<std::string> WorkerCommand(const DemoSetup& setup, const std::string& name,
                                       bool shared) {
  std::vector<std::string> command;
  if (shared) {
    command = {(platform::ProgramFolder() / "reveza").string(),
               "run",
               "--name",
               name,
               "--socket",
               setup.socket.string(),
               "--quiet",
               "--"};
  }
  command.insert(command.end(),
                 {setup.worker.string(), "--bytes", fmt::format("{}", setup.result.each), "--steps",
                  fmt::format("{}", setup.steps), "--step-ms", fmt::format("{}", kStepMs),
                  "--load-every", fmt::format("{}", kLoadEvery), "--load-ms",
                  fmt::format("{}", kLoadMs), "--name", name, "--json"});
  return command;
}

std::vector<DemoRow> RowsOf(const DemoSetup& setup, const std::deque<DemoProgram>& programs,
                            const nlohmann::json& status) {
  std::vector<DemoRow> rows;
  for (const DemoProgram& program : programs) {
    DemoRow row;
    row.name = program.name;
    row.step = program.step;
    row.steps = std::max(program.steps, setup.steps);
    row.state = program.running() ? "starting" : "done";
    for (const auto& client : status.value("clients", nlohmann::json::array())) {
      if (client.value("name", "") != row.name || !program.running()) continue;
      row.resident = client.value("/footprint/resident"_json_pointer, Bytes{0});
      const std::string state = client.value("state", "");
      row.state = state == "running"    ? "on the GPU"
                  : state == "entering" ? "swapping in"
                  : state == "leaving"  ? "swapping out"
                                        : "waiting";
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

class Screen {
 public:
  explicit Screen(const DemoSetup& setup) : setup_(setup) {}

  void Show(const std::vector<DemoRow>& rows, double seconds) {
    if (setup_.quiet) return;
    if (setup_.live) {
      const std::string up = lines_ > 0 ? fmt::format("\x1b[{}A\x1b[J", lines_) : "";
      const std::string text = Picture(rows, setup_.result.card, seconds, !std::getenv("NO_COLOR"));
      fmt::print("{}{}", up, text);
      lines_ = static_cast<int>(std::ranges::count(text, '\n'));
    } else if (seconds >= next_line_) {
      fmt::print("{}", PlainLine(rows, seconds));
      next_line_ = seconds + 2;
    }
    std::fflush(stdout);
  }

 private:
  const DemoSetup& setup_;
  int lines_ = 0;
  double next_line_ = 0;
};

double SecondsSince(steady_clock::time_point began) {
  return std::chrono::duration<double>(steady_clock::now() - began).count();
}

CommandResult<void> CheckSuccess(const std::deque<DemoProgram>& programs) {
  if (interrupted) return Failure(kFailed, "interrupted");
  for (const DemoProgram& program : programs) {
    if (program.succeeded()) continue;
    return Failure(kFailed, "the demo program '{}' failed: {}", program.name, program.last_error);
  }
  return {};
}

// Runs the programs one by one, without Reveza. Returns the hashes of their results.
CommandResult<std::vector<std::string>> RunOneByOne(DemoSetup& setup) {
  std::vector<std::string> hashes;
  Screen screen(setup);
  const auto began = steady_clock::now();
  for (const std::string& name : kNames) {
    std::deque<DemoProgram> programs;
    programs.emplace_back(name, WorkerCommand(setup, name, false), setup.environment);
    while (programs[0].running() && !interrupted) {
      DemoProgram::Poll(programs, milliseconds(100));
      auto rows = RowsOf(setup, programs, nlohmann::json::object());
      rows[0].state = programs[0].running() ? "alone" : "done";
      rows[0].resident = programs[0].running() ? setup.result.each : 0;
      screen.Show(rows, SecondsSince(began));
    }
    RETURN_IF_ERROR(CheckSuccess(programs));
    hashes.push_back(programs[0].hash);
    setup.result.programs.push_back({name, programs[0].seconds, 0, false});
  }
  setup.result.all_alone = SecondsSince(began);
  return hashes;
}

CommandResult<void> RunConcurrently(DemoSetup& setup, const std::vector<std::string>& hashes,
                                    DaemonLink& link) {
  Screen screen(setup);
  std::deque<DemoProgram> programs;
  const auto began = steady_clock::now();
  for (const std::string& name : kNames) {
    programs.emplace_back(name, WorkerCommand(setup, name, true), setup.environment);
  }
  const auto runs = [&] { return std::ranges::any_of(programs, &DemoProgram::running); };
  auto next_picture = began;
  while (runs() && !interrupted) {
    DemoProgram::Poll(programs, milliseconds(100));
    if (steady_clock::now() < next_picture) continue;
    next_picture = steady_clock::now() + milliseconds(200);
    const auto status = link.Status();
    screen.Show(RowsOf(setup, programs, status.value_or(nlohmann::json::object())),
                SecondsSince(began));
  }
  setup.result.all_together = SecondsSince(began);
  RETURN_IF_ERROR(CheckSuccess(programs));
  for (std::size_t i = 0; i < programs.size(); ++i) {
    setup.result.programs[i].together = programs[i].seconds;
    setup.result.programs[i].same = programs[i].hash == hashes[i];
  }
  ASSIGN_OR_RETURN(const auto status, link.Status());
  for (const auto& gpu : status.value("gpus", nlohmann::json::array())) {
    setup.result.moved_out += gpu.value("/handover/bytes_out"_json_pointer, Bytes{0});
    setup.result.moved_in += gpu.value("/handover/bytes_in"_json_pointer, Bytes{0});
    setup.result.handovers += gpu.value("/handover/count"_json_pointer, std::uint64_t{0});
  }
  return {};
}

void Narrate(const DemoSetup& setup, const std::string& text) {
  if (setup.quiet) return;
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

constexpr const char* kMeaning =
    R"(What it shows: three programs whose memory exceeds the GPU's shared it. While one
ran, the memory of the others was swapped out to host memory and later back to the
same addresses, transparently to the programs; none ran out of memory.)";
constexpr const char* kMeaningWithoutMoves =
    R"(What it shows: three programs whose memory exceeds the GPU's shared it. Each finished
within its first time slice, so nothing had to be swapped: the others waited before
allocating their memory; none ran out of memory.)";
constexpr const char* kSimulatedTimes =
    R"(Times on a simulated GPU vary with the machine's load and say nothing about a real one.)";
constexpr const char* kYourOwn = R"(With your own program:
  reveza run -- python train.py       in as many terminals as you like
  reveza status --watch               which program is on the GPU, which wait, and why)";

CommandResult<void> RunDemo(DemoSetup& setup) {
  const DemoResult& result = setup.result;
  Narrate(setup, TitleLine("Three programs, one GPU"));
  Narrate(setup,
          fmt::format("GPU: {}, {}.\nPrograms: {}, {} and {}, {} each: together {:.1f} times the "
                      "GPU's memory.\nEach waits {:.1f} s for data before every {} steps.\n",
                      result.device, FormatBytes(result.card), kNames[0], kNames[1], kNames[2],
                      FormatBytes(result.each),
                      3.0 * static_cast<double>(result.each) / static_cast<double>(result.card),
                      kLoadMs / 1000.0, kLoadEvery));
  Narrate(setup, "First one by one, without Reveza:\n");
  ASSIGN_OR_RETURN(const auto hashes, RunOneByOne(setup));

  Narrate(setup, "\nNow all three concurrently, under `reveza run`:\n");
  ASSIGN_OR_RETURN(auto link, DaemonLink::ConnectOrStart(setup.socket, setup.daemon_flags));
  const auto ran = RunConcurrently(setup, hashes, link);
  // Stops the demo's own daemon.
  if (auto stopper = DaemonLink::Connect(setup.socket)) {
    [[maybe_unused]] const auto stopped = stopper->Stop(true);
    for (int i = 0; i < 500 && DaemonLink::Connect(setup.socket); ++i) usleep(10'000);
  }
  RETURN_IF_ERROR(ran);
  Narrate(setup, "\n" + ResultTable(setup.result));
  Narrate(setup, result.moved_out > 0 ? kMeaning : kMeaningWithoutMoves);
  if (!result.real_gpu) Narrate(setup, kSimulatedTimes);
  Narrate(setup, "");
  Narrate(setup, kYourOwn);
  return {};
}

}  // namespace

CommandResult<int> Demo(bool as_json) {
  CatchInterrupts();
  const platform::TemporaryFolder folder(fs::temp_directory_path(), "reveza-demo-");
  if (folder.path().empty()) return ReportError(kOutput, "cannot create a temporary folder");
  ASSIGN_OR_RETURN(auto setup, MakeSetup(folder.path(), as_json));
  RETURN_IF_ERROR(RunDemo(setup));
  if (as_json) fmt::print("{}\n", ResultJson(setup.result).dump(2));
  if (!setup.result.AllSame())
    return ReportError(kResults, "the results differ; please report this");
  return kDone;
}

}  // namespace reveza::cli
