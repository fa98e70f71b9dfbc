// The thread that asks the daemon and the job runners on behalf of all open pages, and tells them
// what is new. It asks nobody while no page is open.
#pragma once

#include <thread>

#include "reveza/gpu/daemon/settings.h"
#include "reveza/insight/page/feed.h"

namespace reveza::cli {

class Sampler {
 public:
  // Both must outlive the sampler.
  Sampler(const daemon::Settings& settings, page::Feed& feed);
  // Ends the thread.
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

 private:
  void Run(const std::stop_token& stop);

  const daemon::Settings& settings_;
  page::Feed& feed_;
  std::jthread thread_;
};

}  // namespace reveza::cli
