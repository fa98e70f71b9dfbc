#include "fraudgen/check/check.h"

#include <gtest/gtest.h>

#include "common/table/arrow.h"
#include "fraudgen/check/testing_data_set.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/manifest_store.h"

namespace reveza::fraudgen::check {
namespace check_test {

namespace fs = std::filesystem;
using NoFindings = std::map<std::string, std::string>;

// Also verifies that all formats give the same counts and p-values.
TEST(Check, SoundDataPassesInEveryFormat) {
  for (const std::string model : {"classic", "coherent"}) {
    std::vector<std::string> first;
    for (const Format format : {Format::kJsonLines, Format::kJson, Format::kCsv, Format::kTsv,
                                Format::kParquet, Format::kArrow}) {
      if (!kHaveArrow && (format == Format::kParquet || format == Format::kArrow)) continue;
      const TestingDataSet data(model, {.format = format});
      EXPECT_EQ(data.Findings(), NoFindings()) << model << NameOf(format);
      std::vector<std::string> results;
      for (const Outcome& outcome : data.Check().outcomes) {
        results.push_back(outcome.name + ": " + outcome.detail);
      }
      EXPECT_GT(results.size(), 50u);
      if (first.empty()) first = results;
      EXPECT_EQ(results, first) << model << NameOf(format);
    }
  }
}

TEST(Check, FormatOptionsDoNotChangeResults) {
  const TestingDataSet plain("classic");
  std::vector<TableOptions> all = {{.format = Format::kJsonLines},
                                   {.format = Format::kCsv, .classic_columns = true}};
  if (kHaveArrow) {
    all.push_back({.format = Format::kParquet, .money = Money::kDecimal, .nested = true});
    all.push_back({.format = Format::kParquet, .money = Money::kCents});
    all.push_back({.format = Format::kArrow, .money = Money::kDecimal});
    for (const Codec codec : {Codec::kZstd, Codec::kGzip, Codec::kLz4}) {
      all.push_back({.format = Format::kJsonLines, .text_codec = codec});
      all.push_back({.format = Format::kCsv, .text_codec = codec});
    }
  }
  std::vector<std::string> first;
  for (const TableOptions& options : all) {
    const TestingDataSet data("classic", options);
    EXPECT_EQ(data.Findings(), NoFindings()) << NameOf(options.format);
    std::vector<std::string> results;
    for (const Outcome& outcome : data.Check().outcomes) results.push_back(outcome.detail);
    if (first.empty()) first = results;
    EXPECT_EQ(results, first) << NameOf(options.format);
  }
}

// Files of small tables have the rows of two blocks each.
TEST(Check, ReadsFilesThatSpanBlocks) {
  Extras defective{.blocks = 5, .group_blocks = 2};
  for (Share& share : defective.defects.of) share = {.billionths = 20'000'000};
  for (const Extras& extras : {Extras{.graph = true, .blocks = 5, .group_blocks = 2}, defective}) {
    const TestingDataSet data("coherent", {.format = Format::kCsv}, {}, extras);
    EXPECT_TRUE(data.Read(std::string(ManifestNameOf("customers/part-00001.csv")))
                    .contains("rows_of_blocks"));
    EXPECT_EQ(data.Findings(), NoFindings());
  }
}

TEST(Check, DetectsDamageInFilesThatSpanBlocks) {
  const TestingDataSet data("coherent", {.format = Format::kJsonLines}, {},
                            {.blocks = 5, .group_blocks = 2});
  const std::string file = "customers/part-00001.jsonl";
  const std::string whole = data.Read(file);
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  data.WriteAsMade(file, whole.substr(0, last));
  EXPECT_TRUE(data.FailedChecks().contains("files: row counts match the manifests"));
  data.WriteAsMade(file, whole + whole.substr(last));
  EXPECT_TRUE(data.FailedChecks().contains("files: row counts match the manifests"));
  data.WriteAsMade(file, whole.substr(0, whole.size() - 9));
  EXPECT_TRUE(data.FailedChecks().contains("files: readable to the end"));
  data.WriteAsMade(file, whole);
  EXPECT_EQ(data.FailedChecks(), Names());
  // The same rows in other blocks.
  const std::string name(ManifestNameOf(file));
  std::string moved = data.Read(name);
  const std::string rows = "\"rows_of_blocks\": [\n    30,\n    30\n";
  ASSERT_TRUE(moved.contains(rows)) << moved;
  moved.replace(moved.find(rows), rows.size(), "\"rows_of_blocks\": [\n    29,\n    31\n");
  data.Write(name, moved);
  EXPECT_TRUE(data.FailedChecks().contains("manifests: manifest.json matches the file manifests"));
}

TEST(Check, ReadsPartitionKeysFromFolders) {
  const std::string skipped = "timeline: consistency between rows";
  for (const std::string keys : {"year,month", "type"}) {
    const TestingDataSet data("coherent", {.format = Format::kCsv}, *ParsePartition(keys));
    EXPECT_EQ(data.Findings(), NoFindings()) << keys;
    const auto outcomes = data.Check().outcomes;
    EXPECT_EQ(std::ranges::count(outcomes, skipped, &Outcome::name), keys == "type" ? 1 : 0);
  }
  const TestingDataSet data("classic", {.format = Format::kCsv}, {"type", "is_fraud"});
  EXPECT_EQ(data.Findings(), NoFindings());
  const std::string name = "transactions/type=PIX/is_fraud=false/part-00000.csv";
  data.Write("transactions/type=PIX/stray.csv", data.Read(name));
  EXPECT_EQ(data.FailedChecks(), Names{"manifests: every data file is listed"});
  fs::remove(data.path() / "transactions/type=PIX/stray.csv");
  // Rows in the folder is_fraud=true count as frauds.
  data.WriteAsMade("transactions/type=PIX/is_fraud=true/part-00000.csv", data.Read(name));
  EXPECT_TRUE(data.FailedChecks().contains("files: row counts match the manifests"));
}

TEST(Check, MissingDataSetIsNotFound) {
  const platform::TestingDirectory empty;
  const auto always = [](uint64_t) { return true; };
  EXPECT_EQ(CheckData(std::make_shared<Folder>(empty.path()), always).error().code,
            Error::Code::kNotFound);
  EXPECT_EQ(CheckData(std::make_shared<Folder>(empty / "nothing"), always).error().code,
            Error::Code::kNotFound);
  const TestingDataSet data("classic");
  const auto stopped =
      CheckData(std::make_shared<Folder>(data.path()), [](uint64_t) { return false; });
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->stopped);
}

// Renames all files as fraudgen 0.1 did: data and manifests in one folder.
void MoveToOldLayout(const TestingDataSet& data) {
  auto all = *ReadManifest(data.Read(std::string(kManifestName)), "manifest.json");
  for (FileManifest& file : all) {
    const std::string name = file.file;
    file.file = file.table + "_" + name.substr(name.find("/part-") + std::size("/part-") - 1);
    fs::rename(data.path() / name, data.path() / file.file);
    data.Write(std::string(OldNameOf(ManifestNameOf(file.file))), WriteFileManifest(file));
  }
  data.Write(std::string(OldNameOf(kManifestName)), *WriteManifest(all));
  fs::rename(data.path() / kConfigurationName, data.path() / OldNameOf(kConfigurationName));
  fs::remove_all(data.path() / kMetadataFolder);
}

TEST(Check, ReadsTheOldLayout) {
  const TestingDataSet data("coherent");
  const std::size_t checks = data.Check().outcomes.size();
  MoveToOldLayout(data);
  EXPECT_EQ(data.Findings(), (std::map<std::string, std::string>{}));
  EXPECT_EQ(data.Check().outcomes.size(), checks);
  data.Write("customers_00099.jsonl", "{}\n");
  EXPECT_EQ(data.FailedChecks(), Names{"manifests: every data file is listed"});
  fs::remove(data.path() / "customers_00099.jsonl");
  fs::remove(data.path() / OldNameOf(ManifestNameOf("customers_00000.jsonl")));
  EXPECT_EQ(data.FailedChecks(), Names{"manifests: manifest.json matches the file manifests"});
}

TEST(Check, DetectsModifiedManifestsAndFiles) {
  constexpr auto kFile = "rides/part-00001.jsonl";
  const TestingDataSet data("classic");
  const std::string whole = data.Read(kFile);
  const std::string manifest = data.Read("_fraudgen/manifest.json");
  const Names agree = {"manifests: manifest.json matches the file manifests"};

  fs::remove(data.path() / "_fraudgen/manifest.json");
  EXPECT_EQ(data.FailedChecks(), agree);
  data.Write("_fraudgen/manifest.json", "{");
  EXPECT_EQ(data.FailedChecks(), (Names{"manifests: readable", *agree.begin()}));
  data.Write("_fraudgen/manifest.json", manifest);
  const std::string own = data.Read(ManifestNameOf(kFile));
  fs::remove(data.path() / ManifestNameOf(kFile));
  EXPECT_EQ(data.FailedChecks(), agree);
  data.Write(ManifestNameOf(kFile), own);
  EXPECT_EQ(data.FailedChecks(), Names{});

  data.Write("rides/part-00007.jsonl", whole);
  EXPECT_EQ(data.FailedChecks(), Names{"manifests: every data file is listed"});
  fs::remove(data.path() / "rides/part-00007.jsonl");

  // The case of a letter is covered by no other check.
  std::string changed = data.Read("drivers/part-00000.jsonl");
  const std::string drivers = changed;
  const std::size_t letter = changed.find("\"name\":\"") + 8;
  changed[letter] = static_cast<char>(changed[letter] ^ 32);
  data.Write("drivers/part-00000.jsonl", changed);
  EXPECT_EQ(data.FailedChecks(), Names{"files: hashes match the manifests"});
  data.Write("drivers/part-00000.jsonl", drivers + "\n");
  EXPECT_EQ(data.FailedChecks(),
            (Names{"files: hashes match the manifests", "files: sizes match the manifests"}));
  data.Write("drivers/part-00000.jsonl", drivers);

  data.WriteAsMade(kFile, whole.substr(0, whole.size() - 9));
  const auto findings = data.Findings();
  ASSERT_TRUE(findings.contains("files: readable to the end"));
  EXPECT_NE(findings.at("files: readable to the end").find(kFile), std::string::npos);
  fs::remove(data.path() / kFile);
  EXPECT_TRUE(data.FailedChecks().contains("files: none is missing"));
}

TEST(Check, DetectsTruncatedColumnarFiles) {
  if (!kHaveArrow) GTEST_SKIP() << "this build has no Arrow";
  for (const Format format : {Format::kParquet, Format::kArrow}) {
    const TestingDataSet data("classic", {.format = format});
    const std::string file = "devices/part-00001." + std::string(NameOf(format));
    data.WriteAsMade(file, data.Read(file).substr(0, 1'000));
    EXPECT_TRUE(data.FailedChecks().contains("files: readable to the end")) << file;
  }
}

TEST(Check, DetectsDamageInCompressedText) {
  if (!kHaveArrow) GTEST_SKIP() << "this build has no Arrow";
  const TestingDataSet data("classic", {.format = Format::kCsv, .text_codec = Codec::kGzip});
  const std::string file = "devices/part-00001.csv.gz";
  const std::string whole = data.Read(file);
  data.Write("devices/part-00009.csv.gz", whole);
  EXPECT_EQ(data.FailedChecks(), Names{"manifests: every data file is listed"});
  fs::remove(data.path() / "devices/part-00009.csv.gz");
  data.WriteAsMade(file, whole.substr(0, whole.size() - 9));
  EXPECT_TRUE(data.FailedChecks().contains("files: readable to the end"));
}

TEST(Check, DetectsDamageInClassicData) {
  const std::string payments = "transactions/part-00001.jsonl";
  const auto all = [](const std::string& key, const std::string& value) {
    return [=](Lines& lines) {
      for (std::string& line : lines) {
        if (MemberOf(line, key) != "null") SetMember(line, key, value);
      }
    };
  };
  ExpectDetected(
      "classic",
      {
          {payments,
           [](Lines& lines) { lines.pop_back(); },
           {"files: row counts match the manifests",
            "settings: transactions has the requested number of rows"}},
          {payments, Set("", "amount", "null"), {"transactions: nulls only in nullable columns"}},
          {payments,
           Set("", "channel", "\"PIGEON\""),
           {"transactions: categories match the schema"}},
          {payments, Set("", "ip_address", "177"), {"transactions: values match the column types"}},
          {payments, Set("", "amount", "12.345"), {"transactions: values match the column types"}},
          {payments,
           Set("", "currency", "\"BRL\",\"colour\":\"red\""),
           {"transactions: columns match the schema"}},
          {payments,
           Set("", "timestamp", "\"2031-01-01T12:00:00.000000\""),
           {"settings: all rows are in the requested period"}},
          {payments,
           [](Lines& lines) {
             for (const char* key : {"transaction_id", "session_id"}) {
               SetMember(lines[1], key, MemberOf(lines[0], key));
             }
           },
           {"keys: transactions.transaction_id is unique"}},
          {payments,
           Set("", "session_id", "\"SESS_000000000000001\""),
           {"transactions: session_id matches transaction_id"}},
          {payments,
           Set("", "device_id", "\"DEV_000000999999\""),
           {"keys: transactions.device_id exists in devices",
            "keys: transactions.device_id with customer_id exists in devices"}},
          {payments,
           [](Lines& lines) {
             SetMember(lines[0], "device_id", "\"X" + MemberOf(lines[0], "device_id").substr(1));
           },
           {"keys: identifiers have the right prefix and length"}},
          {payments,
           Set("\"type\":\"PIX\"", "card_brand", "\"VISA\""),
           {"transactions: card columns are set for cards only"}},
          {payments,
           Set("\"type\":\"DEBIT_CARD\"", "installments", "2"),
           {"transactions: card_type and installments match type"}},
          {payments,
           Set("\"type\":\"PIX\"", "pix_key_destination", "null"),
           {"transactions: PIX keys are set for PIX only"}},
          {payments,
           Set("\"type\":\"PIX\"", "destination_bank", "null"),
           {"transactions: destination_bank is set for PIX, TED, BOLETO and DOC only"}},
          {payments,
           Set("\"mcc_risk_level\":\"low\"", "mcc_risk_level", "\"high\""),
           {"transactions: merchant, category and risk match"}},
          {payments,
           Set("\"unusual_time\":false", "unusual_time", "true"),
           {"transactions: unusual_time is correct before six only"}},
          {payments,
           Set("\"status\":\"APPROVED\"", "refusal_reason", "\"CVV_ERROR\""),
           {"transactions: refusal_reason is set for declined payments only"}},
          {payments,
           Set("\"is_fraud\":false", "fraud_type", "\"PHISHING\""),
           {"transactions: fraud_type is set for frauds only"}},
          {payments,
           Set("\"is_fraud\":false", "fraud_score", "50.00"),
           {"transactions: fraud_score matches the label",
            "distribution: transactions.fraud_score"}},
          {payments, all("card_brand", "\"VISA\""), {"distribution: transactions.card_brand"}},
          {payments,
           all("fraud_type", "\"PHISHING\""),
           {"distribution: transactions.fraud_type",
            "distribution: transactions.amount of frauds"}},
          {payments,
           all("distance_from_last_txn_km", "50.00"),
           {"distribution: transactions.distance_from_last_txn_km"}},
          {payments,
           [](Lines& lines) {
             for (std::string& line : lines) {
               if (MemberOf(line, "is_fraud") == "false") SetMember(line, "amount", "77.77");
             }
           },
           {"distribution: transactions.amount of honest rows"}},
          {"customers/part-00000.jsonl",
           [](Lines& lines) {
             std::string cpf = MemberOf(lines[3], "cpf");
             cpf[14] = cpf[14] == '0' ? '1' : '0';
             SetMember(lines[3], "cpf", cpf);
           },
           {"CPFs: check digits match"}},
          {"customers/part-00000.jsonl",
           Set("", "email", "\"someone@gmail.com\""),
           {"customers: e-mail addresses use example domains"}},
          {"customers/part-00000.jsonl",
           Set("", "credit_limit", "1.00"),
           {"customers: credit_limit is 2 to 8 times the income"}},
          {"customers/part-00000.jsonl",
           [](Lines& lines) {
             std::string& other = LineWith(lines, MemberOf(lines[0], "state"), 1);
             SetMember(other, "cpf", MemberOf(lines[0], "cpf"));
           },
           {"keys: customers.cpf is unique"}},
          {"rides/part-00000.jsonl",
           Set("\"status\":\"COMPLETED\"", "tip", "null"),
           {"rides: nulls only in nullable columns"}},
          {"rides/part-00000.jsonl",
           Set("\"status\":\"COMPLETED\"", "driver_rating", "null"),
           {"rides: completion columns are set for completed rides only"}},
          {"rides/part-00000.jsonl",
           Set("\"status\":\"COMPLETED\"", "wait_time_minutes", "99"),
           {"rides: times follow from wait and duration"}},
          {"rides/part-00000.jsonl",
           Set("\"status\":\"COMPLETED\"", "platform_fee", "0.01"),
           {"rides: fare, pay and fee add up"}},
          {"rides/part-00000.jsonl",
           Set("", "driver_id", "\"DRV_0000099999\""),
           {"keys: rides.driver_id exists in drivers"}},
      });
}

}  // namespace check_test
}  // namespace reveza::fraudgen::check
