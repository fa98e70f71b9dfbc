// What `reveza` completes beyond its options: jobs, steps, running programs, findings.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "common/cli/completion.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/insight/doctor/finding.h"

namespace reveza::cli {
namespace {

using command_line::Candidate;

// A daemon that is busy for longer gives no candidates.
constexpr std::chrono::milliseconds kMaxWait{300};

std::vector<Candidate> RunningPrograms() {
  std::vector<Candidate> programs;
  const auto configuration = LoadConfiguration({});
  if (!configuration) return programs;
  auto link = DaemonLink::Connect(SocketPath(configuration->settings()));
  if (!link) return programs;
  link->SetTimeout(kMaxWait);
  const auto status = link->Status();
  if (!status || !status->is_object()) return programs;
  for (const auto& client : status->value("clients", nlohmann::json::array())) {
    Candidate candidate{client.value("name", ""), client.value("state", "")};
    const auto same = [&](const Candidate& known) { return known.value == candidate.value; };
    if (std::ranges::none_of(programs, same)) programs.push_back(std::move(candidate));
  }
  return programs;
}

std::vector<Candidate> Named(const std::vector<std::string>& names) {
  std::vector<Candidate> candidates;
  for (const std::string& name : names) candidates.push_back({name});
  return candidates;
}

std::vector<Candidate> ValuesOf(std::string_view kind, const command_line::Typed& typed) {
  if (kind == "JOB") return Named(JobNames());
  if (kind == "STEP" && !typed.positionals.empty()) {
    return Named(StepLabels(typed.positionals.front(), command_line::kMaxCandidates));
  }
  if (kind == "PROGRAM") return RunningPrograms();
  std::vector<Candidate> candidates;
  if (kind == "FINDING") {
    for (const doctor::Page& page : doctor::AllPages()) {
      candidates.push_back({std::string(page.id)});
    }
  }
  return candidates;
}

}  // namespace

command_line::CompletionSource CompletionValues() { return {.values = ValuesOf, .accepts = {}}; }

}  // namespace reveza::cli
