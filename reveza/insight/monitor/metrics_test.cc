#include "reveza/insight/monitor/metrics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "reveza/insight/monitor/testing_snapshot.h"

namespace reveza::monitor {
namespace metrics_test {

std::string TextOf(const std::string& path) {
  std::ifstream file(std::string(REVEZA_SOURCE) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "name{label="value",...}" -> value
std::map<std::string, double> Values(const Snapshot& snapshot) {
  std::map<std::string, double> values;
  for (const MetricSample& sample : MetricSamples(snapshot)) {
    std::string key = AllMetrics()[sample.metric].name;
    for (const auto& [label, value] : sample.labels) key += " " + label + "=" + value;
    EXPECT_TRUE(values.emplace(key, sample.value).second) << key << " is a duplicate";
  }
  return values;
}

TEST(Metrics, ReflectTheSnapshot) {
  const auto values = Values(TestingSnapshot());
  const auto at = [&](const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? -1 : found->second;
  };
  const std::string gpu = " gpu=GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
  const std::string job = " job_id=sweep-3f2a job_name=sweep";
  EXPECT_EQ(at("reveza_cpu_busy_ratio"), 0.78);
  EXPECT_DOUBLE_EQ(at("reveza_pressure_ratio resource=memory kind=full"), 0.005);
  EXPECT_DOUBLE_EQ(at("reveza_pressure_seconds_total resource=cpu kind=some"), 260e-6);
  EXPECT_EQ(at("reveza_daemon_up"), 1);
  EXPECT_EQ(at("reveza_gpu_sm_active_ratio" + gpu), 0.37);
  EXPECT_EQ(at("reveza_gpu_link_bytes_per_second" + gpu + " direction=out"), 21.4e9);
  EXPECT_EQ(at("reveza_gpu_handovers_total" + gpu), 12);
  EXPECT_EQ(at("reveza_program_clients program=bia state=waiting"), 1);
  EXPECT_EQ(at("reveza_program_gpu_resident_bytes program=ana"), 42.0 * kGiB);
  EXPECT_EQ(at("reveza_program_share_wanted_ratio program=ana"), 0.66);
  EXPECT_EQ(at("reveza_program_share_got_ratio program=ana"), 0.7);
  EXPECT_EQ(at("reveza_program_wait_seconds program=ana percentile=99"), 1.5);
  EXPECT_EQ(at("reveza_program_gpu_seconds_total program=ana"), 12.5);
  EXPECT_EQ(at("reveza_program_waited_seconds_total program=ana"), 3.5);
  EXPECT_EQ(at("reveza_job_steps" + job + " state=done"), 56);
  EXPECT_EQ(at("reveza_job_eta_seconds" + job + " percentile=90"), 520);
  EXPECT_EQ(at("reveza_job_held_back" + job), 1);
  EXPECT_EQ(at("reveza_job_memory_claim_bytes" + job), 3.0 * kGiB);
  EXPECT_EQ(at("reveza_job_metric" + job + " metric=phi statistic=final"), 0.61);
}

TEST(Metrics, FurtherDaemonsShareTheHost) {
  Snapshot snapshot;
  snapshot.daemon = Daemon{"/a", "1", 7, 65, 100, 20};
  snapshot.further_daemons = {Daemon{"/b", "1", 8, 65, 110, 5}};
  const auto values = Values(snapshot);
  EXPECT_EQ(values.at("reveza_host_budget_bytes"), 110);
  EXPECT_EQ(values.at("reveza_host_reserved_bytes"), 25);
}

TEST(Metrics, UnavailableValuesHaveNoSample) {
  Snapshot snapshot;
  snapshot.gpus.emplace_back();
  Job job;
  job.id = "a";
  job.running.emplace_back();
  snapshot.jobs.push_back(job);
  const auto values = Values(snapshot);
  std::vector<std::string> keys;
  for (const auto& [key, value] : values) keys.push_back(key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"reveza_daemon_up", "reveza_gpu_info gpu= index= name=",
                                      "reveza_job_held_back job_id=a job_name=", "reveza_notes"}));
}

TEST(Metrics, KeepTheLastStateOfEndedJobs) {
  Snapshot snapshot;
  JobRecord record;
  record.id = "nightly";
  record.ended = 1790000000.5;
  record.steps = {10, 7, 0, 1, 2, 0};
  record.unknown = 1;
  record.attempts = {{"done", 7}, {"failed", 6}};
  record.cpu_seconds = 12.5;
  snapshot.records.push_back(record);
  auto values = Values(snapshot);
  const std::string job = " job_id=nightly job_name=nightly";
  EXPECT_EQ(values.at("reveza_job_running" + job), 0);
  EXPECT_EQ(values.at("reveza_job_end_timestamp_seconds" + job), 1790000000.5);
  EXPECT_EQ(values.at("reveza_job_steps" + job + " state=failed"), 2);
  EXPECT_EQ(values.at("reveza_job_steps" + job + " state=unknown"), 1);
  EXPECT_EQ(values.at("reveza_job_steps_all" + job), 10);
  EXPECT_EQ(values.at("reveza_job_attempts_total" + job + " outcome=failed"), 6);
  EXPECT_EQ(values.at("reveza_job_cpu_seconds_total" + job), 12.5);
  snapshot.records[0].running = true;
  values = Values(snapshot);
  EXPECT_EQ(values.at("reveza_job_running" + job), 1);
  EXPECT_FALSE(values.contains("reveza_job_end_timestamp_seconds" + job));
  EXPECT_FALSE(values.contains("reveza_job_steps" + job + " state=failed")) << "the runner says it";
}

TEST(Metrics, HistogramsHaveEachDurationOnce) {
  Durations durations;
  for (const double seconds : {0.001, 0.01, 0.02, 5.0, 1e6}) durations.Add(seconds);
  EXPECT_EQ(durations.counts[0], 2u) << "a bound belongs to its class";
  EXPECT_EQ(durations.counts[1], 1u);
  EXPECT_EQ(durations.counts.back(), 1u);
  EXPECT_DOUBLE_EQ(durations.sum, 1000005.031);
  Snapshot snapshot;
  snapshot.records.emplace_back().durations = durations;
  for (const MetricSample& sample : MetricSamples(snapshot)) {
    const bool histogram = AllMetrics()[sample.metric].type == MetricType::kHistogram;
    EXPECT_EQ(sample.durations.has_value(), histogram);
  }
}

TEST(Metrics, DoNotGrowWithStepsAndProcesses) {
  Snapshot snapshot = TestingSnapshot();
  const std::size_t before = MetricSamples(snapshot).size();
  for (int i = 0; i < 1000; ++i) snapshot.jobs[0].running.push_back(snapshot.jobs[0].running[0]);
  for (int i = 0; i < 1000; ++i) snapshot.clients.push_back(snapshot.clients[0]);
  EXPECT_EQ(MetricSamples(snapshot).size(), before);
}

TEST(Metrics, HaveTheDeclaredLabels) {
  for (const MetricSample& sample : MetricSamples(TestingSnapshot())) {
    const Metric& metric = AllMetrics()[sample.metric];
    std::string labels;
    for (const auto& [label, value] : sample.labels) {
      labels += (labels.empty() ? "" : ",") + label;
    }
    EXPECT_EQ(labels, metric.labels) << metric.name;
  }
}

TEST(Metrics, FollowPrometheusNaming) {
  std::set<std::string> names;
  for (const Metric& metric : AllMetrics()) {
    const std::string name = metric.name;
    EXPECT_TRUE(names.insert(name).second) << name << " is a duplicate";
    EXPECT_TRUE(std::regex_match(name, std::regex("reveza_[a-z0-9_]+"))) << name;
    EXPECT_EQ(metric.type == MetricType::kCounter, name.ends_with("_total")) << name;
    // Reserved for the samples of summaries and histograms.
    for (const char* label : {"quantile", "le"}) {
      EXPECT_FALSE(fmt::format(",{},", metric.labels).contains(fmt::format(",{},", label))) << name;
    }
  }
}

TEST(Metrics, MatchTheDocumentation) {
  constexpr const char* kTypes[] = {"gauge", "counter", "histogram"};
  std::string rows;
  for (const Metric& metric : AllMetrics()) {
    std::string labels;
    std::istringstream words(metric.labels);
    for (std::string label; std::getline(words, label, ',');) {
      labels += (labels.empty() ? "`" : ", `") + label + "`";
    }
    rows += fmt::format("| `{}` | {} | {} | {} |\n", metric.name,
                        kTypes[static_cast<std::size_t>(metric.type)], labels, metric.help);
  }
  const std::string document = TextOf("docs/metrics.md");
  ASSERT_FALSE(document.empty());
  std::string written;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| `reveza_")) written += line + "\n";
  }
  EXPECT_EQ(written, rows) << "docs/metrics.md is out of date";
}

void FindQueries(const nlohmann::json& json, std::vector<std::string>& found) {
  if (json.is_object() && json.contains("expr")) found.push_back(json.at("expr"));
  if (!json.is_structured()) return;
  for (const auto& value : json) FindQueries(value, found);
}

TEST(Metrics, OfTheGrafanaDashboardExist) {
  const auto dashboard =
      nlohmann::json::parse(TextOf("deploy/grafana/reveza.json"), nullptr, false);
  ASSERT_FALSE(dashboard.is_discarded());
  std::vector<std::string> queries;
  FindQueries(dashboard, queries);
  EXPECT_GE(queries.size(), 10u);
  const std::regex name("reveza_[a-z0-9_]+");
  for (const std::string& query : queries) {
    std::size_t names = 0;
    for (std::sregex_iterator at(query.begin(), query.end(), name), end; at != end; ++at) {
      ++names;
      EXPECT_NE(std::ranges::find(AllMetrics(), at->str(),
                                  [](const Metric& metric) { return std::string(metric.name); }),
                AllMetrics().end())
          << at->str() << " in " << query;
    }
    EXPECT_GT(names, 0u) << query;
  }
}

}  // namespace metrics_test
}  // namespace reveza::monitor
