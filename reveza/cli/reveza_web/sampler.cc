#include "reveza/cli/reveza_web/sampler.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "common/base/json_text.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/cli/reveza/top/live_sources.h"
#include "reveza/insight/monitor/collector.h"
#include "reveza/insight/monitor/json_view.h"

namespace reveza::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Short beside what a person sees, long beside what a question costs the daemon.
constexpr milliseconds kEventsEvery{100};
constexpr milliseconds kSnapshotEvery{500};
constexpr milliseconds kDaemonTimeout{1000};

double WallTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Asks the daemon for the events that the feed lacks; connects again after an error.
class EventReader {
 public:
  EventReader(std::filesystem::path socket, page::Feed& feed)
      : socket_(std::move(socket)), feed_(feed) {}

  void Read() {
    // After a long pause the daemon has more events than one answer holds.
    for (int part = 0; part < kMaxParts; ++part) {
      const auto answer = Ask();
      if (!answer) {
        link_.reset();
        feed_.LoseDaemon();
        return;
      }
      feed_.AddEvents(*answer, WallTime());
      if (feed_.next_of_daemon() >= answer->value("last", std::uint64_t{0})) return;
    }
  }

 private:
  static constexpr int kMaxParts = 4;

  CommandResult<nlohmann::json> Ask() {
    if (!link_) {
      ASSIGN_OR_RETURN(auto link, DaemonLink::Connect(socket_));
      link_.emplace(std::move(link));
      link_->SetTimeout(kDaemonTimeout);
    }
    return link_->Events(feed_.next_of_daemon());
  }

  std::filesystem::path socket_;
  page::Feed& feed_;
  std::optional<DaemonLink> link_;
};

}  // namespace

Sampler::Sampler(const daemon::Settings& settings, page::Feed& feed)
    : settings_(settings),
      feed_(feed),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

Sampler::~Sampler() = default;

void Sampler::Run(const std::stop_token& stop) {
  LiveSources live(SocketPaths(settings_));
  monitor::Collector collector(live.sources());
  EventReader events(SocketPath(settings_), feed_);
  auto snapshot_at = steady_clock::now();
  auto next = steady_clock::now();
  while (!stop.stop_requested()) {
    if (feed_.pages() > 0) {
      events.Read();
      if (steady_clock::now() >= snapshot_at) {
        feed_.SetSnapshot(JsonText(monitor::ToJson(collector.Collect()), -1));
        snapshot_at = steady_clock::now() + kSnapshotEvery;
      }
    }
    next = std::max(next + kEventsEvery, steady_clock::now());
    std::this_thread::sleep_until(next);
  }
}

}  // namespace reveza::cli
