// `reveza-metrics`: serves what `reveza top` knows at /metrics, for Prometheus.
#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/settings.h"
#include "exit_status.h"
#include "live_sources.h"
#include "monitor/collector.h"
#include "monitor/metrics.h"
#include "platform/runtime_paths.h"

namespace reveza::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kListen[] = "127.0.0.1:9787";
// Two who ask at once get the same: figures of a moment say little.
constexpr milliseconds kSameMoment{500};
constexpr milliseconds kBetweenTwoLooks{250};

std::vector<prometheus::MetricFamily> FamiliesOf(const monitor::Snapshot& snapshot) {
  const auto metrics = monitor::AllMetrics();
  std::vector<prometheus::MetricFamily> families(metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    families[i].name = metrics[i].name;
    families[i].help = metrics[i].meaning;
    families[i].type =
        metrics[i].counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  }
  for (const monitor::MetricSample& sample : monitor::MetricSamples(snapshot)) {
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
    (metrics[sample.metric].counts ? metric.counter.value : metric.gauge.value) = sample.value;
    families[sample.metric].metric.push_back(std::move(metric));
  }
  std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
  return families;
}

// Looks at the machine when it is asked. The server's threads ask: one looks at a time.
class Looker : public prometheus::Collectable {
 public:
  explicit Looker(const daemon::Settings& settings)
      : live_(settings), collector_(live_.sources()), snapshot_(collector_.Collect()) {
    std::this_thread::sleep_for(kBetweenTwoLooks);
    snapshot_ = collector_.Collect();
    looked_ = steady_clock::now();
  }

  std::vector<prometheus::MetricFamily> Collect() const override {
    const std::lock_guard lock(mutex_);
    if (steady_clock::now() - looked_ >= kSameMoment) {
      snapshot_ = collector_.Collect();
      looked_ = steady_clock::now();
    }
    return FamiliesOf(snapshot_);
  }

 private:
  LiveSources live_;
  mutable std::mutex mutex_;
  mutable monitor::Collector collector_;
  mutable monitor::Snapshot snapshot_;
  mutable steady_clock::time_point looked_;
};

int Serve(const std::shared_ptr<Looker>& looker, const std::string& listen, const sigset_t& ends) {
  prometheus::Exposer exposer(listen, 2);
  exposer.RegisterCollectable(looker);
  // The port that it became, where 0 was asked for.
  const auto ports = exposer.GetListeningPorts();
  const std::string host = listen.substr(0, listen.rfind(':'));
  fmt::print("reveza: metrics at http://{}:{}/metrics\n", host, ports.empty() ? 0 : ports.front());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  return kDone;
}

int Run(const daemon::Settings& settings, const std::string& listen, bool once) {
  // The server's threads inherit the mask, so that these come to Serve alone.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const auto looker = std::make_shared<Looker>(settings);
  if (once) {
    fmt::print("{}", prometheus::TextSerializer().Serialize(looker->Collect()));
    return std::fflush(stdout) == 0 ? kDone : kOutput;
  }
  try {
    return Serve(looker, listen, ends);
  } catch (const std::exception& error) {
    return Say(kFailed, fmt::format("cannot serve metrics at {}: {}; choose another with --listen "
                                    "ADDRESS:PORT",
                                    listen, error.what()));
  }
}

int Main(int argc, char** argv) {
  CLI::App app("Serves machine, GPUs, programs and jobs to Prometheus at /metrics.",
               "reveza metrics");
  std::string listen = kListen;
  std::string socket;
  bool once = false;
  app.add_option("--listen", listen, "ADDRESS:PORT; 127.0.0.1:9787 when not said");
  app.add_flag("--once", once, "print them and end");
  app.add_option("--socket", socket, "the daemon's socket");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return Say(kUsage, fmt::format("{}; see reveza metrics --help", error.what()));
  }
  if (listen.find(':') == std::string::npos) {
    return Say(kUsage, fmt::format("--listen {}: write ADDRESS:PORT, such as {}", listen, kListen));
  }
  auto configuration = daemon::LoadConfiguration(platform::ProcessEnvironment);
  if (!configuration) return Say(kConfiguration, configuration.error().message);
  if (!socket.empty()) {
    const auto added = configuration->AddFlag("socket", socket);
    if (!added) return Say(kUsage, added.error().message);
  }
  if (auto checked = configuration->Check(); !checked) {
    return Say(kConfiguration, checked.error().message);
  }
  return Run(configuration->settings(), listen, once);
}

}  // namespace
}  // namespace reveza::cli

int main(int argc, char** argv) { return reveza::cli::Main(argc, argv); }
