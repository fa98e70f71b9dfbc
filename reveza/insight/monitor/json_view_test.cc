#include "reveza/insight/monitor/json_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reveza/insight/monitor/testing_snapshot.h"

namespace reveza::monitor {
namespace json_view_test {

using Json = nlohmann::ordered_json;

TEST(JsonView, ContainsAvailableValues) {
  const Json json = ToJson(TestingSnapshot());
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("machine").at("cpu"), 0.78);
  EXPECT_EQ(json.at("machine").at("pressure").at("memory").at("full").at("avg10"), 0.5);
  EXPECT_EQ(json.at("gpus").at(0).at("sm_active"), 0.37);
  EXPECT_EQ(json.at("gpus").at(0).at("some_kernel_resident"), 1.0);
  EXPECT_EQ(json.at("gpus").at(0).at("handovers").at("count"), 12);
  EXPECT_EQ(json.at("clients").at(0).at("use").at("peak"), 4 * kGiB);
  EXPECT_EQ(json.at("jobs").at(0).at("running").at(0).at("cycle").at("done"), 3);
  EXPECT_EQ(json.at("jobs").at(0).at("metrics").at("phi").at("final"), 0.61);
  EXPECT_EQ(json.at("jobs").at(0).at("steps").at("held"), 0);
}

// Collects the paths of all numbers.
void FindNumbers(const Json& json, const std::string& path, std::vector<std::string>& found) {
  if (json.is_number()) found.push_back(path);
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items()) FindNumbers(value, path + "/" + key, found);
}

TEST(JsonView, UnavailableValuesAreNull) {
  Snapshot snapshot;
  snapshot.daemon = Daemon{};
  snapshot.gpus.emplace_back();
  snapshot.clients.emplace_back();
  snapshot.outside.emplace_back();
  Job job;
  job.running.emplace_back();
  job.metrics["phi"] = {};
  snapshot.jobs.push_back(job);
  std::vector<std::string> found;
  FindNumbers(ToJson(snapshot), "", found);
  EXPECT_EQ(found, (std::vector<std::string>{"/version", "/time", "/jobs/0/running/0/step",
                                             "/process_files_read", "/process_files_opened"}));
}

TEST(CsvView, HasOneLinePerRow) {
  const std::string heading = CsvHeading();
  const auto commas = std::ranges::count(heading, ',');
  Snapshot snapshot = TestingSnapshot();
  const std::string rows = CsvRows(snapshot);
  EXPECT_EQ(std::ranges::count(rows, '\n'), 6);
  EXPECT_NE(rows.find("1790000200.250,client,,7502,bia,waiting,,,,,,,25769803776,,3,,"
                      "python serve.py,,,\n"),
            std::string::npos)
      << rows;
  std::size_t begin = 0;
  for (std::size_t end; (end = rows.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_EQ(std::count(rows.begin() + static_cast<long>(begin),
                         rows.begin() + static_cast<long>(end), ','),
              commas);
  }
}

TEST(CsvView, QuotesSpecialCharacters) {
  Snapshot snapshot;
  Client client;
  client.pid = 5;
  client.name = "a \"b\", c";
  client.command = "x\ny";
  snapshot.clients.push_back(client);
  EXPECT_EQ(CsvRows(snapshot), "0.000,client,,5,\"a \"\"b\"\", c\",,,,,,,,,,,,\"x\ny\",,,\n");
}

}  // namespace json_view_test
}  // namespace reveza::monitor
