// `reveza pause`, `resume` and `set`.
#include <fmt/format.h>

#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/gpu/wire/codec.h"

namespace reveza::cli {

CommandResult<int> ChangeJob(const daemon::Settings& settings, const std::string& name,
                             const wire::Policy& policy) {
  wire::JobRequest request{};
  if (name.size() >= sizeof(request.name)) {
    return Failure(kUsage, "'{}' is too long for a name", name);
  }
  request.policy = policy;
  wire::CopyText(request.name, sizeof(request.name), name.c_str());
  ASSIGN_OR_RETURN(auto link, DaemonLink::Connect(SocketPath(settings)));
  ASSIGN_OR_RETURN(const auto answer, link.Change(request));
  if (answer.value("ok", false)) return kDone;
  const std::string code = answer.value("code", "");
  const ExitStatus status = code == "permission" ? kPermission
                            : code == "shortage" ? kBudget
                            : code == "invalid"  ? kUsage
                                                 : kNoSuchProgram;
  return Failure(status, "{}", answer.value("error", "the daemon refused"));
}

}  // namespace reveza::cli
