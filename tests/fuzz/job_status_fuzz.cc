// Parses arbitrary replies of a job runner. A valid status must render at any screen size without
// control characters, and convert to JSON, CSV and metrics.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "reveza/insight/monitor/daemon_status.h"
#include "reveza/insight/monitor/job_sockets.h"
#include "reveza/insight/monitor/json_view.h"
#include "reveza/insight/monitor/metrics.h"
#include "reveza/insight/monitor/screen.h"

namespace {

using reveza::monitor::Snapshot;

void CheckRendering(const Snapshot& snapshot) {
  reveza::monitor::History history;
  history.Add(snapshot);
  for (const auto& [width, height] : {std::pair{80, 24}, {120, 40}, {7, 3}}) {
    const auto lines = reveza::monitor::Draw(snapshot, history, {width, height, true}, {});
    if (lines.size() != static_cast<std::size_t>(height)) std::abort();
    for (const auto& line : lines) {
      if (line.size() != static_cast<std::size_t>(width)) std::abort();
      for (const auto& cell : line) {
        if (cell.character < U' ' || (cell.character >= 0x7f && cell.character < 0xa0))
          std::abort();
      }
    }
  }
  const std::string text = reveza::monitor::ToJson(snapshot).dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (nlohmann::json::parse(text, nullptr, false).is_discarded()) std::abort();
  reveza::monitor::CsvRows(snapshot);
  for (const auto& sample : reveza::monitor::MetricSamples(snapshot)) {
    if (sample.metric >= reveza::monitor::AllMetrics().size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Snapshot snapshot;
  const auto job = reveza::monitor::ParseJobStatus({"/jobs/a.sock", text, 5});
  if (job) snapshot.jobs.push_back(*job);
  const auto status = nlohmann::json::parse(text, nullptr, false);
  if (!status.is_discarded()) {
    reveza::monitor::ReadDaemonStatus(status, true, snapshot);
  } else if (job) {
    std::abort();
  }
  CheckRendering(snapshot);
  return 0;
}
