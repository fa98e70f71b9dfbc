#include "demo.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "daemon_link.h"
#include "demo_picture.h"
#include "demo_programs.h"
#include "exit_status.h"
#include "gpu_probe.h"
#include "platform/host_memory.h"
#include "platform/runtime_paths.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

const std::vector<std::string> kNames = {"ana", "bia", "caio"};
constexpr int kStepMs = 80;
// A large card is made smaller, so that three programs' memory finds its place in the host's, and
// so that a handover and the slices, which follow its cost, are short enough to be watched.
constexpr Bytes kLargestCard = 8 * kGiB;
constexpr const char* kShareOnALargeCard = "0.1";
// On a busy machine fakecuda's copies are slow, and slices as long as a whole program would follow.
constexpr const char* kLongestSliceOnFakecuda = "2s";

// A signal handler can reach nothing else.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void OnSignal(int) { interrupted = true; }

class CatchInterrupts {
 public:
  CatchInterrupts() {
    struct sigaction action{};
    action.sa_handler = OnSignal;
    sigaction(SIGINT, &action, &before_int_);
    sigaction(SIGTERM, &action, &before_term_);
  }
  ~CatchInterrupts() {
    sigaction(SIGINT, &before_int_, nullptr);
    sigaction(SIGTERM, &before_term_, nullptr);
  }
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;

 private:
  struct sigaction before_int_{};
  struct sigaction before_term_{};
};

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "reveza-demo-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

// The stage: which card, how large the programs are, where everything is.
struct Stage {
  DemoResult result;
  fs::path worker;
  std::uint64_t steps = 0;  // of each program
  std::map<std::string, std::string> environment;
  std::vector<std::string> daemon_flags;
  fs::path socket;
  bool live = false;  // draw, else print lines
  bool silent = false;
};

std::optional<std::string> FakecudaFolder() {
  const fs::path base = platform::ProgramFolder().parent_path() / "lib";
  for (const char* place : {"fakecuda", "reveza/fakecuda"}) {
    std::error_code error;
    if (fs::exists(base / place / "libcuda.so.1", error)) return (base / place).string();
  }
  return std::nullopt;
}

Outcome<Stage> SetStage(const fs::path& folder, bool as_json) {
  Stage stage;
  stage.socket = folder / "run" / "revezad.sock";
  stage.worker = platform::ProgramFolder() / "reveza-demo-worker";
  stage.silent = as_json;
  stage.live = !as_json && isatty(STDOUT_FILENO) != 0;
  stage.daemon_flags = {"--linger", "5s"};
  DemoResult& result = stage.result;
  Bytes context = 4 * kMiB;
  stage.steps = 24;
  if (const auto gpu = ProbeGpu()) {
    result.real_gpu = true;
    result.device = gpu->name;
    context = 700 * kMiB;
    stage.steps = 40;
    const Bytes host = platform::MemoryHeadroom().value_or(4 * kGiB);
    result.card = std::min({gpu->total / 4 * 3, kLargestCard, host / 3});
    stage.daemon_flags.insert(
        stage.daemon_flags.end(),
        {"--gpu-budget", fmt::format("{}B", result.card), "--handover-share", kShareOnALargeCard});
  } else {
    const auto library = FakecudaFolder();
    if (!library) {
      return std::unexpected(Trouble{kNoLibrary, "there is no GPU, and fakecuda is not installed"});
    }
    result.device = "fakecuda, a GPU made of software";
    result.card = 248 * kMiB;
    stage.daemon_flags.insert(stage.daemon_flags.end(),
                              {"--context-estimate", fmt::format("{}B", context), "--slice-ceiling",
                               kLongestSliceOnFakecuda});
    fs::create_directory(folder / "fakecuda");
    stage.environment = {{"LD_LIBRARY_PATH", *library},
                         {"FAKECUDA_DIR", (folder / "fakecuda").string()},
                         {"FAKECUDA_MEMORY", "256MiB"},
                         {"FAKECUDA_LINK", "4e9"}};
  }
  // Three contexts stay in the card; each program takes three quarters of the rest.
  result.each = RoundUp((result.card - 3 * context) / 4 * 3, 2 * kMiB);
  return stage;
}

std::vector<std::string> WorkerCommand(const Stage& stage, const std::string& name, bool shared) {
  std::vector<std::string> command;
  if (shared) {
    command = {(platform::ProgramFolder() / "reveza").string(),
               "run",
               "--name",
               name,
               "--socket",
               stage.socket.string(),
               "--quiet",
               "--"};
  }
  command.insert(command.end(),
                 {stage.worker.string(), "--bytes", fmt::format("{}", stage.result.each), "--steps",
                  fmt::format("{}", stage.steps), "--step-ms", fmt::format("{}", kStepMs), "--name",
                  name, "--json"});
  return command;
}

// ---- what is drawn ----

std::vector<DemoRow> RowsOf(const Stage& stage, const std::vector<DemoProgram>& programs,
                            const nlohmann::json& status) {
  std::vector<DemoRow> rows;
  for (const DemoProgram& program : programs) {
    DemoRow row;
    row.name = program.name();
    row.step = program.step();
    row.steps = std::max(program.steps(), stage.steps);
    row.state = program.running() ? "starts" : "done";
    for (const auto& client : status.value("clients", nlohmann::json::array())) {
      if (client.value("name", "") != row.name || !program.running()) continue;
      row.resident = client.value("/footprint/resident"_json_pointer, Bytes{0});
      const std::string state = client.value("state", "");
      row.state = state == "running"    ? "in the card"
                  : state == "entering" ? "moves in"
                  : state == "leaving"  ? "moves out"
                                        : "waits";
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

class Screen {
 public:
  explicit Screen(const Stage& stage) : stage_(stage) {}

  void Show(const std::vector<DemoRow>& rows, double seconds) {
    if (stage_.silent) return;
    if (stage_.live) {
      const std::string up = lines_ > 0 ? fmt::format("\x1b[{}A\x1b[J", lines_) : "";
      const std::string text = Picture(rows, stage_.result.card, seconds, !std::getenv("NO_COLOR"));
      fmt::print("{}{}", up, text);
      lines_ = static_cast<int>(std::ranges::count(text, '\n'));
    } else if (seconds >= next_line_) {
      fmt::print("{}", PlainLine(rows, seconds));
      next_line_ = seconds + 2;
    }
    std::fflush(stdout);
  }

 private:
  const Stage& stage_;
  int lines_ = 0;
  double next_line_ = 0;
};

double SecondsSince(steady_clock::time_point began) {
  return std::chrono::duration<double>(steady_clock::now() - began).count();
}

std::optional<Trouble> CheckEnd(const std::vector<DemoProgram>& programs) {
  if (interrupted) return Trouble{kFailed, "interrupted"};
  for (const DemoProgram& program : programs) {
    if (!program.succeeded()) {
      return Trouble{kFailed, fmt::format("the demo's program '{}' failed: {}", program.name(),
                                          program.last_words())};
    }
  }
  return std::nullopt;
}

// ---- the two acts ----

// Each alone, one after the other, without Reveza. Their hashes are the truth.
Outcome<std::vector<std::string>> PlayAlone(Stage& stage) {
  std::vector<std::string> hashes;
  Screen screen(stage);
  const auto began = steady_clock::now();
  for (const std::string& name : kNames) {
    std::vector<DemoProgram> programs;
    programs.emplace_back(name, WorkerCommand(stage, name, false), stage.environment);
    while (programs[0].running() && !interrupted) {
      DemoProgram::Listen(programs, milliseconds(100));
      auto rows = RowsOf(stage, programs, nlohmann::json::object());
      rows[0].state = programs[0].running() ? "alone" : "done";
      rows[0].resident = programs[0].running() ? stage.result.each : 0;
      screen.Show(rows, SecondsSince(began));
    }
    if (const auto trouble = CheckEnd(programs)) return std::unexpected(*trouble);
    hashes.push_back(programs[0].hash());
    stage.result.programs.push_back({name, programs[0].seconds(), 0, false});
  }
  stage.result.all_alone = SecondsSince(began);
  return hashes;
}

std::optional<Trouble> PlayTogether(Stage& stage, const std::vector<std::string>& hashes,
                                    DaemonLink& link) {
  Screen screen(stage);
  std::vector<DemoProgram> programs;
  const auto began = steady_clock::now();
  for (const std::string& name : kNames) {
    programs.emplace_back(name, WorkerCommand(stage, name, true), stage.environment);
  }
  const auto runs = [&] { return std::ranges::any_of(programs, &DemoProgram::running); };
  auto next_picture = began;
  while (runs() && !interrupted) {
    DemoProgram::Listen(programs, milliseconds(100));
    if (steady_clock::now() < next_picture) continue;
    next_picture = steady_clock::now() + milliseconds(200);
    const auto status = link.Status();
    screen.Show(RowsOf(stage, programs, status.value_or(nlohmann::json::object())),
                SecondsSince(began));
  }
  stage.result.all_together = SecondsSince(began);
  if (const auto trouble = CheckEnd(programs)) return trouble;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    stage.result.programs[i].together = programs[i].seconds();
    stage.result.programs[i].same = programs[i].hash() == hashes[i];
  }
  const auto status = link.Status();
  if (!status) return status.error();
  for (const auto& gpu : status->value("gpus", nlohmann::json::array())) {
    stage.result.moved_out += gpu.value("/handover/bytes_out"_json_pointer, Bytes{0});
    stage.result.moved_in += gpu.value("/handover/bytes_in"_json_pointer, Bytes{0});
    stage.result.handovers += gpu.value("/handover/count"_json_pointer, std::uint64_t{0});
  }
  return std::nullopt;
}

void Tell(const Stage& stage, const std::string& text) {
  if (stage.silent) return;
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

constexpr const char* kMeaning =
    R"(What it means: three programs that do not fit together shared one card. While
one worked, the memory of the others waited in the host's; it moved out and in
at the same addresses, so the programs noticed nothing, and none ran out.)";
constexpr const char* kMeaningWithoutMoves =
    R"(What it means: three programs that do not fit together shared one card. Each was
done within its first time slice, so nothing had to move: the others waited
before they took their memory, and none ran out.)";
constexpr const char* kOwn = R"(With your own program:
  reveza run -- python train.py       in as many terminals as you like
  reveza status --watch               who is in the card, who waits, and why)";

Outcome<DemoResult> Play(Stage& stage) {
  const DemoResult& result = stage.result;
  Tell(stage, TitleLine("Three programs, one card"));
  Tell(stage,
       fmt::format("The card: {}, {} for all.\nThe programs: {}, {} and {}, {} each: "
                   "together {:.1f} times the card.\n",
                   result.device, FormatBytes(result.card), kNames[0], kNames[1], kNames[2],
                   FormatBytes(result.each),
                   3.0 * static_cast<double>(result.each) / static_cast<double>(result.card)));
  Tell(stage, "First each alone, one after the other, without Reveza:\n");
  const auto hashes = PlayAlone(stage);
  if (!hashes) return std::unexpected(hashes.error());

  Tell(stage, "\nNow all three at once, under reveza run:\n");
  auto link = DaemonLink::ConnectOrStart(stage.socket, stage.daemon_flags);
  if (!link) return std::unexpected(link.error());
  const auto trouble = PlayTogether(stage, *hashes, *link);
  // The daemon was ours alone; it ends whatever happened.
  if (auto stopper = DaemonLink::Connect(stage.socket)) {
    [[maybe_unused]] const auto stopped = stopper->Stop(true);
    for (int i = 0; i < 500 && DaemonLink::Connect(stage.socket); ++i) usleep(10'000);
  }
  if (trouble) return std::unexpected(*trouble);
  Tell(stage, "\n" + ResultTable(stage.result));
  Tell(stage, result.moved_out > 0 ? kMeaning : kMeaningWithoutMoves);
  Tell(stage, "");
  Tell(stage, kOwn);
  return stage.result;
}

}  // namespace

int Demo(bool as_json) {
  const CatchInterrupts catcher;
  const Folder folder;
  if (folder.path.empty()) return Say(kOutput, "cannot make a folder for temporary files");
  auto stage = SetStage(folder.path, as_json);
  if (!stage) return Say(stage.error().status, stage.error().message);
  const auto result = Play(*stage);
  if (!result) return Say(result.error().status, result.error().message);
  if (as_json) fmt::print("{}\n", ResultJson(*result).dump(2));
  if (!result->Same()) return Say(kResults, "the results are not the same; please report this");
  return kDone;
}

}  // namespace reveza::cli
