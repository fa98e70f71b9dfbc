// `reveza-metrics`: serves the data of `reveza top` to Prometheus at /metrics.
#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/cli/command_line.h"
#include "common/platform/machine.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/metrics_options.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/cli/reveza/top/job_records.h"
#include "reveza/cli/reveza/top/live_sources.h"
#include "reveza/cli/reveza_metrics/families.h"
#include "reveza/insight/monitor/collector.h"
#include "reveza/insight/monitor/program_totals.h"

namespace reveza::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Scrapes within this time get the same snapshot.
constexpr milliseconds kMaxAge{500};
constexpr milliseconds kSampleInterval{250};  // rates need two samples

// Samples the machine on each scrape. Thread-safe: scrapes come from the server's threads.
class SnapshotSource : public prometheus::Collectable {
 public:
  // `dcgm_host`: the host's name, if the names of dcgm-exporter are wanted too.
  SnapshotSource(const std::vector<std::filesystem::path>& sockets,
                 std::optional<std::string> dcgm_host)
      : dcgm_host_(std::move(dcgm_host)), live_(sockets), collector_(Sources()) {
    collector_.Collect();
    std::this_thread::sleep_for(kSampleInterval);
    Sample();
  }

  std::vector<prometheus::MetricFamily> Collect() const override {
    MutexLock lock(mutex_);
    if (steady_clock::now() - sampled_at_ >= kMaxAge) {
      Sample();
    }
    auto families = FamiliesOf(snapshot_);
    if (dcgm_host_)
      std::ranges::move(DcgmFamiliesOf(snapshot_, *dcgm_host_), std::back_inserter(families));
    return families;
  }

 private:
  void Sample() const REQUIRES(mutex_) {
    snapshot_ = collector_.Collect();
    totals_.Update(snapshot_);
    sampled_at_ = steady_clock::now();
  }

  monitor::Sources Sources() {
    monitor::Sources sources = live_.sources();
    sources.records = [this](double since) { return records_.Read(since); };
    return sources;
  }

  std::optional<std::string> dcgm_host_;
  LiveSources live_;
  JobRecords records_;
  mutable Mutex mutex_;
  mutable monitor::Collector collector_ GUARDED_BY(mutex_);
  mutable monitor::ProgramTotals totals_ GUARDED_BY(mutex_);
  mutable monitor::Snapshot snapshot_ GUARDED_BY(mutex_);
  mutable steady_clock::time_point sampled_at_ GUARDED_BY(mutex_);
};

int Serve(const std::shared_ptr<SnapshotSource>& source, const std::string& listen,
          const sigset_t& stop_signals) {
  prometheus::Exposer exposer(listen, 2);
  exposer.RegisterCollectable(source);
  // The port chosen by the kernel if 0 was requested.
  const auto ports = exposer.GetListeningPorts();
  const std::string host = listen.substr(0, listen.rfind(':'));
  fmt::print("reveza: metrics at http://{}:{}/metrics\n", host, ports.empty() ? 0 : ports.front());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&stop_signals, &signal);
  return kDone;
}

int Run(const std::vector<std::filesystem::path>& sockets, const MetricsArguments& arguments) {
  // Inherited by the server's threads, so that only Serve() receives the signals.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGINT);
  sigaddset(&stop_signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);
  std::optional<std::string> dcgm_host;
  if (arguments.dcgm_names) dcgm_host = platform::HostName();
  const auto source = std::make_shared<SnapshotSource>(sockets, std::move(dcgm_host));
  const std::string& listen = arguments.listen;
  if (arguments.once) {
    fmt::print("{}", prometheus::TextSerializer().Serialize(source->Collect()));
    return std::fflush(stdout) == 0 ? kDone : kOutput;
  }
  try {
    return Serve(source, listen, stop_signals);
  } catch (const std::exception& error) {
    return ReportError(
        kFailed,
        "cannot serve metrics at {}: {}; choose another address with --listen ADDRESS:PORT", listen,
        error.what());
  }
}

CommandResult<int> Main(int argc, char** argv) {
  CLI::App app("", "reveza metrics");
  MetricsArguments arguments;
  DeclareMetrics(app, arguments);
  if (const auto status = command_line::Parse(kProgram, app, argc, argv)) return *status;
  if (arguments.listen.find(':') == std::string::npos) {
    return ReportError(kUsage, "--listen: '{}' is invalid; write ADDRESS:PORT, e.g. {}",
                       arguments.listen, MetricsArguments().listen);
  }
  ASSIGN_OR_RETURN(const auto configuration, LoadConfiguration({}));
  return Run(SocketPaths(configuration.settings(), arguments.sockets), arguments);
}

}  // namespace
}  // namespace reveza::cli

int main(int argc, char** argv) {
  return reveza::command_line::Run(reveza::cli::kProgram,
                                   [=] { return ReportError(reveza::cli::Main(argc, argv)); });
}
