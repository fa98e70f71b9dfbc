#include "tests/random_programs/trial.h"

#include <signal.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace reveza::random_programs {
namespace {

using nlohmann::json;
using testing::Environment;
using testing::Process;

constexpr char kContext[] = "2MiB";

Environment CardSettings(const TrialOptions& options) {
  return {{"FAKECUDA_MEMORY", options.memory},
          {"FAKECUDA_CONTEXT", kContext},
          {"FAKECUDA_LINK", "0"},
          {"FAKECUDA_NVML", options.nvml},
          {"FAKECUDA_DEVICES", std::to_string(options.devices)}};
}

testing::Machine::Options MachineOptions(const TrialOptions& options) {
  testing::Machine::Options machine;
  machine.memory = options.memory;
  machine.link = "0";
  machine.devices = options.devices;
  machine.environment = CardSettings(options);
  machine.daemon_arguments = {"--gpu-budget",       options.budget,
                              "--gpu-reserve",      "2MiB",
                              "--context-estimate", kContext,
                              "--slice-floor",      "2ms",
                              "--slice-ceiling",    "4ms",
                              "--drain-limit",      "200ms",
                              "--host-budget",      options.host_budget};
  return machine;
}

// Returns the first line that differs.
std::string Difference(const std::string& native, const std::string& shared) {
  std::istringstream a(native), b(shared);
  std::string line, other;
  for (int number = 1;; ++number) {
    const bool more = static_cast<bool>(std::getline(a, line));
    const bool other_more = static_cast<bool>(std::getline(b, other));
    if (!more && !other_more) return "nothing";
    if (more != other_more || line != other) {
      return "line " + std::to_string(number) + ": natively '" + line + "', under Reveza '" +
             other + "'";
    }
  }
}

// Removes notices of long waits, which say how busy the machine is.
std::string WithoutNotices(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("reveza: waiting for ")) kept += line + "\n";
  }
  return kept;
}

}  // namespace

Trial::Trial(TrialOptions options)
    : options_(std::move(options)),
      machine_(MachineOptions(options_)),
      native_(CardSettings(options_)) {
  machine_.StartDaemon();
  StartContender();
}

Trial::~Trial() {
  if (contender_) contender_->Signal(SIGKILL);
}

Process Trial::StartUnderReveza(const std::string& client,
                                const std::vector<std::string>& arguments,
                                const std::string& name) {
  Environment environment = machine_.ProgramEnvironment();
  environment.insert({"REVEZA_SOCKET", machine_.socket()});
  char job[24];
  std::snprintf(job, sizeof job, "%016x", 0x1000u + ++started_);
  environment.insert({"REVEZA_JOB", job});
  environment.merge(testing::Preload());
  std::vector<std::string> command{testing::ClientPath(client)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return Process(command, environment, machine_.folder() + "/" + name);
}

void Trial::StartContender() {
  contender_.reset();
  contender_.emplace(StartUnderReveza(
      "random_program",
      {"--contend", std::to_string(options_.contender_bytes), std::to_string(options_.devices)},
      "contender"));
}

std::optional<std::string> Trial::Run(const Program& program) {
  const std::string file = machine_.folder() + "/program";
  std::ofstream(file) << ToText(program);
  return RunClient("random_program", {file});
}

std::optional<std::string> Trial::RunClient(const std::string& client,
                                            const std::vector<std::string>& arguments) {
  std::vector<std::string> command{testing::ClientPath(client)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Process native(
      command,
      [&] {
        Environment environment = native_.environment();
        environment.insert({"REVEZA_DISABLE", "1"});
        return environment;
      }(),
      native_.folder() + "/native");
  std::string text;
  const auto failure = RunUnderReveza(client, arguments, &text);
  const auto alone = native.Wait(options_.limit);
  if (!alone) return "natively, it hangs: " + native.Output();
  if (alone->status != 0) {
    return "natively, it ends with " + std::to_string(alone->status) + ": " + alone->output +
           alone->error_output;
  }
  if (!text.empty() && text != alone->output) return Difference(alone->output, text);
  return failure;
}

std::optional<std::string> Trial::RunUnderReveza(const std::string& client,
                                                 std::vector<std::string> arguments,
                                                 std::string* text) {
  if (!contender_->Running()) {
    const std::string errors = contender_->ErrorOutput();
    StartContender();
    return "the contender ended: " + errors;
  }
  arguments.emplace_back("--wait");
  Process process = StartUnderReveza(client, arguments, "shared");
  const auto until = std::chrono::steady_clock::now() + options_.limit;
  while (!process.Output().ends_with("done\n")) {
    if (!process.Running()) {
      const auto ended = process.Wait();
      return "under Reveza, it ends with " + std::to_string(ended->status) + ": " +
             ended->error_output;
    }
    if (std::chrono::steady_clock::now() > until) {
      return "under Reveza, it hangs; pid " + std::to_string(process.pid()) + ", status " +
             machine_.Status().dump();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  *text = process.Output();
  if (auto difference = CompareAccounts(process.pid())) return difference;
  process.Signal(SIGTERM);
  const auto ended = process.Wait(options_.limit);
  if (!ended) return "under Reveza, it does not end";
  if (ended->status != 0) return "under Reveza, it ends with " + std::to_string(ended->status);
  const std::string written = WithoutNotices(ended->error_output);
  if (!written.empty()) return "under Reveza, it writes: " + written;
  return std::nullopt;
}

// Waits until the daemon's account of the program is what fakecuda holds for it on each device.
std::optional<std::string> Trial::CompareAccounts(pid_t pid) const {
  const auto until = std::chrono::steady_clock::now() + options_.account_limit;
  std::string difference;
  do {
    const json status = machine_.Status();
    const json card = machine_.CardStatistics();
    if (!status.is_object() || !card.is_object()) {
      difference = "the daemon or fakecuda-stat does not answer";
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    difference.clear();
    const json client = testing::ClientOf(status, pid);
    for (const json& process : card["processes"]) {
      if (process["pid"] != pid || !client.is_object()) continue;
      for (const json& part : client["gpus"]) {
        const auto uuid = status["gpus"][part["gpu"].get<std::size_t>()]["uuid"].get<std::string>();
        const json& held = process["devices"][static_cast<std::size_t>(uuid.back() - '0')];
        const bool contexts_are_estimated = options_.nvml != "full";
        if (part["resident"].get<std::uint64_t>() + part["pinned"].get<std::uint64_t>() !=
                held["allocated"].get<std::uint64_t>() ||
            (!contexts_are_estimated && part["context"] != held["contexts"])) {
          difference = "account " + part.dump() + ", but fakecuda holds " + held.dump();
        }
      }
    }
    if (difference.empty()) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  } while (std::chrono::steady_clock::now() < until);
  return difference;
}

std::uint64_t Trial::Handovers() const {
  std::uint64_t count = 0;
  const json status = machine_.Status();
  if (!status.is_object()) return 0;
  for (const json& gpu : status["gpus"]) count += gpu["handover"]["count"].get<std::uint64_t>();
  return count;
}

Program Shrink(Program program, const std::function<bool(const Program&)>& fails) {
  for (std::size_t part = (program.operations.size() + 1) / 2; part > 0;) {
    bool removed = false;
    for (std::size_t at = 0; at < program.operations.size();) {
      Program smaller = program;
      const auto begin = smaller.operations.begin() + static_cast<std::ptrdiff_t>(at);
      const std::size_t count = std::min(part, smaller.operations.size() - at);
      smaller.operations.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
      if (fails(smaller)) {
        program = std::move(smaller);
        removed = true;
      } else {
        at += part;
      }
    }
    if (part == 1 && !removed) break;
    part = part == 1 ? 1 : (part + 1) / 2;
  }
  return program;
}

}  // namespace reveza::random_programs
