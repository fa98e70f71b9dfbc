// A program, or a tool in it, that takes its process off the card itself.
#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/client.h"

namespace reveza::interpose::hooks {

CUresult cuCheckpointProcessLock(decltype(&::cuCheckpointProcessLock) real, int pid,
                                 CUcheckpointLockArgs* args) {
  if (Client* client = Client::Get()) client->KeepContexts();
  return real(pid, args);
}

}  // namespace reveza::interpose::hooks
