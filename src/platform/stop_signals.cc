#include "platform/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace reveza::platform {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  arrivals_.Reset(signalfd(-1, &signals_, SFD_NONBLOCK | SFD_CLOEXEC));
}

int StopSignals::Came() {
  signalfd_siginfo arrival = {};
  if (came_ == 0 && read(arrivals_.get(), &arrival, sizeof arrival) == sizeof arrival) {
    came_ = static_cast<int>(arrival.ssi_signo);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  }
  return came_;
}

}  // namespace reveza::platform
