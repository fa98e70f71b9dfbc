#include "fraudgen/report/facts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "common/table/arrow.h"
#include "fraudgen/check/testing_data_set.h"

namespace reveza::fraudgen::report {
namespace facts_test {

namespace fs = std::filesystem;
using check::TestingDataSet;
using Json = nlohmann::json;

bool GoOn(uint64_t) { return true; }

Json IslandAt(const fs::path& folder) {
  const auto facts = CollectFacts(std::make_shared<Folder>(folder), 1, GoOn);
  EXPECT_TRUE(facts) << facts.error().message;
  return facts ? Json::parse(ReportJson(facts->json, Language::kEnglish)) : Json();
}

// The JSON lines of a table.
std::vector<Json> RowsOf(const TestingDataSet& data, const std::string& table) {
  std::vector<Json> rows;
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(data.path() / table)) files.insert(entry.path());
  for (const fs::path& file : files) {
    std::istringstream lines(data.Read(table / file.filename()));
    for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  }
  EXPECT_FALSE(rows.empty()) << table;
  return rows;
}

uint64_t Sum(const Json& numbers) {
  uint64_t sum = 0;
  for (const Json& number : numbers) sum += number.get<uint64_t>();
  return sum;
}

// Counts the values of a member by label.
std::map<std::string, Pair> CountsOf(const std::vector<Json>& rows, const std::string& member) {
  std::map<std::string, Pair> counts;
  for (const Json& row : rows) {
    if (row.contains(member) && !row[member].is_null()) {
      counts[row[member].get<std::string>()].Add(row["is_fraud"].get<bool>());
    }
  }
  return counts;
}

TEST(Facts, MatchTheRows) {
  const TestingDataSet data("coherent");
  const auto rows = RowsOf(data, "transactions");
  const Json island = IslandAt(data.path());
  ASSERT_EQ(island["events"].size(), 1u);
  const Json& events = island["events"][0];
  EXPECT_EQ(events["rows"], rows.size());

  uint64_t frauds = 0;
  double honest_amount = 0;
  std::map<std::string, Pair> days;
  std::map<int, Pair> hours;
  for (const Json& row : rows) {
    const bool fraud = row["is_fraud"];
    frauds += fraud ? 1 : 0;
    if (!fraud) honest_amount += row["amount"].get<double>();
    const std::string time = row["timestamp"];
    days[time.substr(0, 10)].Add(fraud);
    hours[std::stoi(time.substr(11, 2))].Add(fraud);
  }
  EXPECT_EQ(events["frauds"], frauds);
  EXPECT_GT(frauds, 100u);
  EXPECT_NEAR(events["amounts"]["mean"]["honest"].get<double>(),
              honest_amount / static_cast<double>(rows.size() - frauds), 1e-6);
  ASSERT_EQ(events["days"].size(), days.size());
  for (const Json& day : events["days"]) {
    EXPECT_EQ(day[1], days[day[0].get<std::string>()].honest) << day;
    EXPECT_EQ(day[2], days[day[0].get<std::string>()].fraud) << day;
  }
  for (int hour = 0; hour < 24; ++hour) {
    uint64_t honest = 0;
    for (int day = 0; day < 7; ++day) {
      honest +=
          events["hours"]["honest"][static_cast<std::size_t>(day * 24 + hour)].get<uint64_t>();
    }
    EXPECT_EQ(honest, hours[hour].honest) << hour;
  }
  EXPECT_EQ(Sum(events["amounts"]["honest"]), rows.size() - frauds);
  EXPECT_EQ(Sum(events["amounts"]["fraud"]), frauds);
  EXPECT_EQ(Sum(events["states"]["honest"]) + Sum(events["states"]["fraud"]), rows.size());
}

TEST(Facts, CountCategoriesAndFraudTypes) {
  const TestingDataSet data("coherent");
  const auto rows = RowsOf(data, "transactions");
  const Json island = IslandAt(data.path());
  const Json& events = island["events"][0];
  ASSERT_EQ(events["categories"].size(), 3u);
  for (const Json& category : events["categories"]) {
    const auto counts = CountsOf(rows, category["column"]);
    EXPECT_EQ(category["values"].size(), counts.size()) << category["column"];
    for (const Json& value : category["values"]) {
      const Pair& pair = counts.at(value["value"]);
      EXPECT_EQ(value["honest"], pair.honest) << value;
      EXPECT_EQ(value["fraud"], pair.fraud) << value;
    }
  }
  const auto types = CountsOf(rows, "fraud_type");
  EXPECT_EQ(events["fraud_types"].size(), types.size());
  uint64_t before = rows.size();
  for (const Json& type : events["fraud_types"]) {
    EXPECT_EQ(type["rows"], types.at(type["type"]).fraud);
    EXPECT_LE(type["rows"], before) << "the most frequent comes first";
    before = type["rows"];
    EXPECT_EQ(Sum(type["delays"]), before);
  }
  uint64_t never = 0;
  uint64_t mistakes = 0;
  for (const Json& row : rows) {
    const bool reported = row.contains("fraud_reported_at") && !row["fraud_reported_at"].is_null();
    if (row["is_fraud"].get<bool>() && !reported) ++never;
    if (!row["is_fraud"].get<bool>() && reported) ++mistakes;
  }
  uint64_t found = 0;
  for (const Json& type : events["fraud_types"]) found += type["delays"].back().get<uint64_t>();
  EXPECT_EQ(found, never);
  EXPECT_GT(never, 0u);
  EXPECT_EQ(events["false_reports"], mistakes);
}

TEST(Facts, UseStatesOfCustomers) {
  const TestingDataSet data("coherent");
  std::map<std::string, std::string> homes;
  std::map<std::string, uint64_t> customers;
  for (const Json& row : RowsOf(data, "customers")) {
    homes[row["customer_id"]] = row["address"]["state"];
    ++customers[row["address"]["state"]];
  }
  std::map<std::string, Pair> counts;
  for (const Json& row : RowsOf(data, "transactions")) {
    counts[homes.at(row["customer_id"])].Add(row["is_fraud"].get<bool>());
  }
  const Json island = IslandAt(data.path());
  for (std::size_t i = 0; i < island["states"].size(); ++i) {
    const std::string code = island["states"][i]["code"];
    EXPECT_EQ(island["states"][i]["customers"], customers[code]) << code;
    EXPECT_EQ(island["events"][0]["states"]["honest"][i], counts[code].honest) << code;
    EXPECT_EQ(island["events"][0]["states"]["fraud"][i], counts[code].fraud) << code;
  }
  EXPECT_FALSE(island["sampled"].get<bool>());
}

TEST(Facts, ChainMatchesTheTables) {
  const TestingDataSet data("coherent");
  const Json island = IslandAt(data.path());
  const Json& hops = island["chain"]["hops"];
  ASSERT_GE(hops.size(), 3u);
  EXPECT_EQ(hops.front()["role"], "VICTIM");
  EXPECT_EQ(hops.back()["role"], "CASH_OUT");
  std::size_t members = 0;
  std::size_t most = 0;
  std::map<std::string, std::size_t> sizes;
  for (const Json& row : RowsOf(data, "rings")) {
    if (row["ring_id"] == island["chain"]["ring"]) ++members;
    if (row["pattern"] == "MULE_CHAIN") most = std::max(most, ++sizes[row["ring_id"]]);
  }
  EXPECT_EQ(hops.size(), members);
  EXPECT_EQ(members, most);
  std::map<std::string, Json> payments;
  for (const Json& row : RowsOf(data, "transactions")) payments[row["timestamp"]] = row;
  std::string before;
  for (const Json& hop : hops) {
    EXPECT_LT(before, hop["at"].get<std::string>());
    before = hop["at"];
    const auto payment = payments.find(before);
    ASSERT_NE(payment, payments.end());
    EXPECT_EQ(payment->second["customer_id"], hop["customer"]);
    EXPECT_EQ(payment->second["amount"], hop["amount"]);
    EXPECT_EQ(payment->second["type"], hop["type"]);
    EXPECT_FALSE(hop["account"].get<std::string>().empty());
  }
  // The receiver of each payment makes the next one.
  std::map<int, Json> by_place;
  for (const Json& hop : hops) by_place[hop["place"].get<int>()] = hop;
  for (const auto& [place, hop] : by_place) {
    if (by_place.contains(place + 1)) {
      EXPECT_EQ(hop["receiver"], by_place[place + 1]["account"]) << place;
    }
  }
}

TEST(Facts, DoNotDependOnTheFormat) {
  for (const std::string model : {"classic", "coherent"}) {
    Json first;
    for (const Format format : {Format::kJsonLines, Format::kJson, Format::kCsv, Format::kTsv,
                                Format::kParquet, Format::kArrow}) {
      if (!kHaveArrow && (format == Format::kParquet || format == Format::kArrow)) continue;
      const TestingDataSet data(model, [&](Settings& s) { s.format = format; });
      Json island = IslandAt(data.path());
      for (const char* member : {"tables", "made_by"}) island.erase(member);
      if (first.is_null()) first = island;
      EXPECT_EQ(island, first);
    }
    EXPECT_EQ(first["events"].size(), model == "classic" ? 2u : 1u);
    EXPECT_TRUE(first["whole"].get<bool>());
  }
}

TEST(Facts, ClassicScoreSeparatesPerfectly) {
  const TestingDataSet data("classic");
  const Json island = IslandAt(data.path());
  const Json& best = island["events"][0]["separation"][0];
  EXPECT_EQ(best["column"], "fraud_score");
  EXPECT_DOUBLE_EQ(best["area"].get<double>(), 1);
  for (const Json& each : island["events"][0]["separation"]) {
    EXPECT_NE(each["column"], "is_fraud");
    EXPECT_NE(each["column"], "fraud_type");
  }
}

TEST(Facts, DataThatCannotBeMadeAgainIsAnError) {
  const platform::TestingDirectory empty;
  const auto error_of = [](const fs::path& folder) {
    const auto facts = CollectFacts(std::make_shared<Folder>(folder), 1, GoOn);
    EXPECT_FALSE(facts);
    return facts ? Error::Code::kInternal : facts.error().code;
  };
  EXPECT_EQ(error_of(empty.path()), Error::Code::kNotFound);
  EXPECT_EQ(error_of(empty / "nothing"), Error::Code::kNotFound);
  const TestingDataSet data("coherent");
  data.ChangeManifests([](FileManifest& file) { file.made_by.model_version = kModelVersion - 1; });
  EXPECT_EQ(error_of(data.path()), Error::Code::kIncompatible);
  const TestingDataSet unknown("coherent");
  unknown.Remove(std::string(kConfigurationName));
  EXPECT_EQ(error_of(unknown.path()), Error::Code::kIncompatible);
}

TEST(Facts, CoverTheBlocksThatAreThere) {
  const TestingDataSet data("coherent", [](Settings& s) {
    s.rows = 130'000;
    s.customers = 500;
    s.file_rows = 0;
  });
  const std::string file = "transactions/part-00001.jsonl";
  const auto rows = static_cast<uint64_t>(std::ranges::count(data.Read(file), '\n'));
  data.Remove(std::string(kManifestName));
  data.Remove(file);
  data.Remove(ManifestNameOf(file));
  const Json island = IslandAt(data.path());
  EXPECT_EQ(island["events"][0]["rows"], 130'000 - rows);
  EXPECT_FALSE(island["whole"].get<bool>());
}

TEST(Facts, Stop) {
  const TestingDataSet data("classic");
  const auto stopped =
      CollectFacts(std::make_shared<Folder>(data.path()), 1, [](uint64_t) { return false; });
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->stopped);
}

}  // namespace facts_test
}  // namespace reveza::fraudgen::report
