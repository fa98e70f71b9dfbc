#include "reveza/cli/reveza/jobs/run_parts.h"

#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/gpu/daemon/settings.h"
#include "reveza/insight/monitor/json_fields.h"
#include "reveza/jobs/decide/machine_reading.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;

// A runner's repeated queries to the daemon that shares the GPUs.
class DaemonLedger {
 public:
  explicit DaemonLedger(fs::path socket) : socket_(std::move(socket)) {}

  // Returns nothing if no daemon answers. After a timeout the daemon is not queried for a while, so
  // that the caller is not held up.
  std::optional<jobs::GpuLedger> Query() {
    const auto now = std::chrono::steady_clock::now();
    if (now < not_before_) return std::nullopt;
    if (!link_) {
      auto link = DaemonLink::Connect(socket_);
      if (!link) return std::nullopt;
      link_.emplace(*std::move(link));
      link_->SetTimeout(std::chrono::milliseconds(500));
    }
    const auto status = link_->Status();
    if (!status) {
      link_.reset();
      // A daemon that exited may be replaced at once.
      if (status.error().status != kNoDaemon) not_before_ = now + std::chrono::seconds(10);
      return std::nullopt;
    }
    const int says = monitor::PidAt(*status, "pid");
    return jobs::ParseGpuLedger(*status, says != 0 && says == link_->Peer());
  }

 private:
  fs::path socket_;
  std::optional<DaemonLink> link_;
  std::chrono::steady_clock::time_point not_before_{};
};

// Returns a function that queries the daemon that `reveza run` would use, or none if the
// configuration is invalid; `reveza run` reports that.
std::function<std::optional<jobs::GpuLedger>()> MakeGpuLedgerQuery() {
  const auto configuration = daemon::LoadConfiguration(platform::ProcessEnvironment);
  if (!configuration) return {};
  const auto ledger = std::make_shared<DaemonLedger>(SocketPath(configuration->settings()));
  return [ledger] { return ledger->Query(); };
}

}  // namespace

Result<fs::path> FindSupervisor() {
  const fs::path programs = platform::ProgramFolder();
  for (const auto& path :
       {programs / "reveza-supervisor", programs.parent_path() / "lib/reveza/reveza-supervisor"}) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return Fail(
      Error::Code::kInternal,
      "reveza-supervisor found neither in {0} nor in {1}; the build or installation is incomplete",
      programs.string(), (programs.parent_path() / "lib/reveza").string());
}

void ShareGpus(jobs::EngineParts& parts) {
  if (platform::ProcessEnvironment("REVEZA_DISABLE") == "1") return;
  // In a pod with a share of a card, all programs have it already.
  if (platform::ProcessEnvironment("REVEZA_REQUIRE_DAEMON") == "1") return;
  parts.gpu_prefix = {platform::ProgramFolder() / "reveza", "run", "--quiet", "--"};
  parts.gpu_ledger = MakeGpuLedgerQuery();
}

}  // namespace reveza::cli
