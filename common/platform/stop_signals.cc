#include "common/platform/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace reveza::platform {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  signal_fd_.Reset(signalfd(-1, &signals_, SFD_NONBLOCK | SFD_CLOEXEC));
}

int StopSignals::Received() {
  signalfd_siginfo arrival = {};
  if (received_ == 0 && read(signal_fd_.get(), &arrival, sizeof arrival) == sizeof arrival) {
    received_ = static_cast<int>(arrival.ssi_signo);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  }
  return received_;
}

}  // namespace reveza::platform
