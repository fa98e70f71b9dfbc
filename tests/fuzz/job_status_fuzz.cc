// Anything that a runner of a job, or somebody in its place, may answer: it is refused, or it can
// be drawn at any size, without a control character, and written as JSON, CSV and metrics.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "monitor/daemon_status.h"
#include "monitor/history.h"
#include "monitor/job_sockets.h"
#include "monitor/json_view.h"
#include "monitor/metrics.h"
#include "monitor/screen.h"

namespace {

using reveza::monitor::Snapshot;

void Show(const Snapshot& snapshot) {
  reveza::monitor::History history;
  history.Add(snapshot);
  for (const auto& [width, height] : {std::pair{80, 24}, {120, 40}, {7, 3}}) {
    const auto lines = reveza::monitor::Draw(snapshot, history, {width, height, true}, {});
    if (lines.size() != static_cast<std::size_t>(height)) std::abort();
    for (const auto& line : lines) {
      if (line.size() != static_cast<std::size_t>(width)) std::abort();
      for (const auto& cell : line) {
        if (cell.letter < U' ' || (cell.letter >= 0x7f && cell.letter < 0xa0)) std::abort();
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
  Show(snapshot);
  return 0;
}
