#include "reveza/cli/reveza_metrics/families.h"

#include <limits>
#include <span>
#include <utility>

#include "reveza/insight/monitor/dcgm_names.h"
#include "reveza/insight/monitor/metrics.h"

namespace reveza::cli {
namespace {

prometheus::MetricType TypeOf(monitor::MetricType type) {
  switch (type) {
    case monitor::MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case monitor::MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
    case monitor::MetricType::kGauge:
      break;
  }
  return prometheus::MetricType::Gauge;
}

prometheus::ClientMetric::Histogram HistogramOf(const monitor::Durations& durations) {
  prometheus::ClientMetric::Histogram histogram;
  for (std::size_t i = 0; i < durations.counts.size(); ++i) {
    histogram.sample_count += durations.counts.at(i);
    const bool last = i == monitor::kDurationBounds.size();
    histogram.bucket.push_back(
        {histogram.sample_count,
         last ? std::numeric_limits<double>::infinity() : monitor::kDurationBounds.at(i)});
  }
  histogram.sample_sum = durations.sum;
  return histogram;
}

// Returns the samples as families of these metrics; those without a sample are left out.
std::vector<prometheus::MetricFamily> Families(std::span<const monitor::Metric> metrics,
                                               const std::vector<monitor::MetricSample>& samples) {
  std::vector<prometheus::MetricFamily> families(metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    families[i].name = metrics[i].name;
    families[i].help = metrics[i].help;
    families[i].type = TypeOf(metrics[i].type);
  }
  for (const monitor::MetricSample& sample : samples) {
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
    const bool counts = metrics[sample.metric].type == monitor::MetricType::kCounter;
    (counts ? metric.counter.value : metric.gauge.value) = sample.value;
    if (sample.durations) metric.histogram = HistogramOf(*sample.durations);
    families[sample.metric].metric.push_back(std::move(metric));
  }
  std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
  return families;
}

}  // namespace

std::vector<prometheus::MetricFamily> FamiliesOf(const monitor::Snapshot& snapshot) {
  return Families(monitor::AllMetrics(), monitor::MetricSamples(snapshot));
}

std::vector<prometheus::MetricFamily> DcgmFamiliesOf(const monitor::Snapshot& snapshot,
                                                     const std::string& host) {
  return Families(monitor::DcgmMetrics(), monitor::DcgmSamples(snapshot, host));
}

}  // namespace reveza::cli
