#include "runner/report/progress_json.h"

#include <chrono>

namespace reveza::runner {
namespace {

using nlohmann::json;

template <typename T>
json OrNull(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

json MetricsJson(std::span<const NamedSummary> metrics) {
  json all = json::object();
  for (const auto& [name, summary] : metrics) {
    all[name] = {{"count", summary.count},
                 {"min", summary.least},
                 {"mean", summary.mean},
                 {"max", summary.most},
                 {"final", summary.final}};
  }
  return all;
}

json EtaJson(const std::optional<RemainingTime>& remaining) {
  if (!remaining) return nullptr;
  return {{"p50", Seconds(remaining->p50)}, {"p90", Seconds(remaining->p90)}};
}

json ProgressJson(const Progress& progress) {
  return {{"steps", progress.steps},
          {"done", progress.done},
          {"failed", progress.failed},
          {"running", progress.running},
          {"waiting", progress.waiting},
          {"reason", progress.waiting_reason.empty() ? json() : json(progress.waiting_reason)},
          {"elapsed", Seconds(progress.elapsed)},
          {"rate", OrNull(progress.rate)},
          {"eta", EtaJson(progress.remaining)},
          {"drift", OrNull(progress.drift)},
          {"metrics", MetricsJson(progress.metrics)}};
}

}  // namespace reveza::runner
