#include "datagen/check/check.h"

#include <gtest/gtest.h>

#include "datagen/check/testing_data_set.h"
#include "datagen/output/arrow_writer.h"
#include "datagen/output/format.h"

namespace reveza::datagen::check {
namespace {

namespace fs = std::filesystem;
using NoFindings = std::map<std::string, std::string>;

// Also that the values are the same whatever the format: so are all counts and chances.
TEST(Check, SoundDataIsFineInEveryFormat) {
  for (const std::string model : {"classic", "coherent"}) {
    std::vector<std::string> first;
    for (const Format format : {Format::kJsonLines, Format::kJson, Format::kCsv, Format::kTsv,
                                Format::kParquet, Format::kArrow}) {
      if (!HaveArrow() && (format == Format::kParquet || format == Format::kArrow)) continue;
      const TestingDataSet data(model, {.format = format});
      EXPECT_EQ(data.Findings(), NoFindings()) << model << NameOf(format);
      std::vector<std::string> said;
      for (const Outcome& outcome : data.Check().outcomes) {
        said.push_back(outcome.name + ": " + outcome.detail);
      }
      EXPECT_GT(said.size(), 50u);
      if (first.empty()) first = said;
      EXPECT_EQ(said, first) << model << NameOf(format);
    }
  }
}

TEST(Check, OptionsOfTheFormatsMakeNoDifference) {
  const TestingDataSet plain("classic");
  std::vector<TableOptions> all = {{.format = Format::kJsonLines, .zone = true},
                                   {.format = Format::kCsv, .classic_columns = true}};
  if (HaveArrow()) {
    all.push_back({.format = Format::kParquet, .money = Money::kDecimal, .nested = true});
    all.push_back({.format = Format::kParquet, .money = Money::kCents});
    all.push_back({.format = Format::kArrow, .money = Money::kDecimal});
  }
  std::vector<std::string> first;
  for (const TableOptions& options : all) {
    const TestingDataSet data("classic", options);
    EXPECT_EQ(data.Findings(), NoFindings()) << NameOf(options.format);
    std::vector<std::string> said;
    for (const Outcome& outcome : data.Check().outcomes) said.push_back(outcome.detail);
    if (first.empty()) first = said;
    EXPECT_EQ(said, first) << NameOf(options.format);
  }
}

TEST(Check, FoldersArePartOfTheRows) {
  const std::string skipped = "timeline: what rows say of each other";
  for (const std::string keys : {"year,month", "type"}) {
    const TestingDataSet data("coherent", {.format = Format::kCsv}, *ParsePartition(keys));
    EXPECT_EQ(data.Findings(), NoFindings()) << keys;
    const auto outcomes = data.Check().outcomes;
    EXPECT_EQ(std::ranges::count(outcomes, skipped, &Outcome::name), keys == "type" ? 1 : 0);
  }
  const TestingDataSet data("classic", {.format = Format::kCsv}, {"type", "is_fraud"});
  EXPECT_EQ(data.Findings(), NoFindings());
  const std::string name = "transactions/type=PIX/is_fraud=false/transactions_00000.csv";
  data.Write("transactions/type=PIX/stray.csv", data.Read(name));
  EXPECT_EQ(data.Wrong(), Names{"manifests: every data file is in them"});
  fs::remove(data.path() / "transactions/type=PIX/stray.csv");
  // Honest rows in the folder of frauds say that they are frauds.
  data.WriteAsMade("transactions/type=PIX/is_fraud=true/transactions_00000.csv", data.Read(name));
  EXPECT_TRUE(data.Wrong().contains("files: rows are those of the manifests"));
}

TEST(Check, WhatIsNoDataSetIsAnError) {
  const platform::TestingDirectory empty;
  const auto go_on = [](uint64_t) { return true; };
  EXPECT_EQ(CheckData(std::make_shared<Folder>(empty.path()), go_on).error().code,
            Error::Code::kNotFound);
  EXPECT_EQ(CheckData(std::make_shared<Folder>(empty / "nothing"), go_on).error().code,
            Error::Code::kNotFound);
  const TestingDataSet data("classic");
  const auto stopped =
      CheckData(std::make_shared<Folder>(data.path()), [](uint64_t) { return false; });
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->stopped);
}

TEST(Check, ManifestsAndFilesAreThoseThatWereWritten) {
  constexpr auto kFile = "rides_00001.jsonl";
  const TestingDataSet data("classic");
  const std::string whole = data.Read(kFile);
  const std::string manifest = data.Read("manifest.json");
  const Names agree = {"manifests: manifest.json and those of the files agree"};

  fs::remove(data.path() / "manifest.json");
  EXPECT_EQ(data.Wrong(), agree);
  data.Write("manifest.json", "{");
  EXPECT_EQ(data.Wrong(), (Names{"manifests: can be read", *agree.begin()}));
  data.Write("manifest.json", manifest);
  const std::string own = data.Read(ManifestNameOf(kFile));
  fs::remove(data.path() / ManifestNameOf(kFile));
  EXPECT_EQ(data.Wrong(), agree);
  data.Write(ManifestNameOf(kFile), own);
  EXPECT_EQ(data.Wrong(), Names{});

  data.Write("rides_00007.jsonl", whole);
  EXPECT_EQ(data.Wrong(), Names{"manifests: every data file is in them"});
  fs::remove(data.path() / "rides_00007.jsonl");

  // The case of a letter, which no other check minds.
  std::string changed = data.Read("drivers_00000.jsonl");
  const std::string drivers = changed;
  const std::size_t letter = changed.find("\"name\":\"") + 8;
  changed[letter] = static_cast<char>(changed[letter] ^ 32);
  data.Write("drivers_00000.jsonl", changed);
  EXPECT_EQ(data.Wrong(), Names{"files: hashes are those of the manifests"});
  data.Write("drivers_00000.jsonl", drivers + "\n");
  EXPECT_EQ(data.Wrong(), (Names{"files: hashes are those of the manifests",
                                 "files: sizes are those of the manifests"}));
  data.Write("drivers_00000.jsonl", drivers);

  data.WriteAsMade(kFile, whole.substr(0, whole.size() - 9));
  const auto findings = data.Findings();
  ASSERT_TRUE(findings.contains("files: can be read to the end"));
  EXPECT_NE(findings.at("files: can be read to the end").find(kFile), std::string::npos);
  fs::remove(data.path() / kFile);
  EXPECT_TRUE(data.Wrong().contains("files: all are there"));
}

TEST(Check, ABrokenColumnarFileIsAFinding) {
  if (!HaveArrow()) GTEST_SKIP() << "this build has no Arrow";
  for (const Format format : {Format::kParquet, Format::kArrow}) {
    const TestingDataSet data("classic", {.format = format});
    const std::string file = "devices_00001." + std::string(NameOf(format));
    data.WriteAsMade(file, data.Read(file).substr(0, 1'000));
    EXPECT_TRUE(data.Wrong().contains("files: can be read to the end")) << file;
  }
}

TEST(Check, ClassicDamage) {
  const std::string payments = "transactions_00001.jsonl";
  const auto all = [](const std::string& key, const std::string& value) {
    return [=](Lines& lines) {
      for (std::string& line : lines) {
        if (MemberOf(line, key) != "null") SetMember(line, key, value);
      }
    };
  };
  ExpectFound(
      "classic",
      {
          {payments,
           [](Lines& lines) { lines.pop_back(); },
           {"files: rows are those of the manifests",
            "settings: transactions has the rows that were asked for"}},
          {payments,
           Set("", "amount", "null"),
           {"transactions: nulls only where the schema allows them"}},
          {payments,
           Set("", "channel", "\"PIGEON\""),
           {"transactions: categories are those of the schema"}},
          {payments,
           Set("", "ip_address", "177"),
           {"transactions: values are of their column's type"}},
          {payments,
           Set("", "amount", "12.345"),
           {"transactions: values are of their column's type"}},
          {payments,
           Set("", "currency", "\"BRL\",\"colour\":\"red\""),
           {"transactions: the columns are those of the schema"}},
          {payments,
           Set("", "timestamp", "\"2031-01-01T12:00:00.000000\""),
           {"settings: all rows are in the days that were asked for"}},
          {payments,
           [](Lines& lines) {
             for (const char* key : {"transaction_id", "session_id"}) {
               SetMember(lines[1], key, MemberOf(lines[0], key));
             }
           },
           {"keys: transactions.transaction_id is there once"}},
          {payments,
           Set("", "session_id", "\"SESS_000000000000001\""),
           {"transactions: session_id has the digits of transaction_id"}},
          {payments,
           Set("", "device_id", "\"DEV_000000999999\""),
           {"keys: transactions.device_id is in devices",
            "keys: transactions.device_id with customer_id is in devices"}},
          {payments,
           [](Lines& lines) {
             SetMember(lines[0], "device_id", "\"X" + MemberOf(lines[0], "device_id").substr(1));
           },
           {"keys: identifiers have their prefix and count of digits"}},
          {payments,
           Set("\"type\":\"PIX\"", "card_brand", "\"VISA\""),
           {"transactions: what cards have is there for cards only"}},
          {payments,
           Set("\"type\":\"DEBIT_CARD\"", "installments", "2"),
           {"transactions: card_type and installments belong to type"}},
          {payments,
           Set("\"type\":\"PIX\"", "pix_key_destination", "null"),
           {"transactions: PIX keys are there for PIX only"}},
          {payments,
           Set("\"type\":\"PIX\"", "destination_bank", "null"),
           {"transactions: destination_bank is there for PIX, TED, BOLETO and DOC only"}},
          {payments,
           Set("\"mcc_risk_level\":\"low\"", "mcc_risk_level", "\"high\""),
           {"transactions: merchant, category and risk belong together"}},
          {payments,
           Set("\"unusual_time\":false", "unusual_time", "true"),
           {"transactions: unusual_time says before six"}},
          {payments,
           Set("\"status\":\"APPROVED\"", "refusal_reason", "\"CVV_ERROR\""),
           {"transactions: refusal_reason is there if declined only"}},
          {payments,
           Set("\"is_fraud\":false", "fraud_type", "\"PHISHING\""),
           {"transactions: fraud_type is there for frauds only"}},
          {payments,
           Set("\"is_fraud\":false", "fraud_score", "50.00"),
           {"transactions: fraud_score is that of its label", "shares: transactions.fraud_score"}},
          {payments, all("card_brand", "\"VISA\""), {"shares: transactions.card_brand"}},
          {payments,
           all("fraud_type", "\"PHISHING\""),
           {"shares: transactions.fraud_type", "shares: transactions.amount of frauds"}},
          {payments,
           all("distance_from_last_txn_km", "50.00"),
           {"shares: transactions.distance_from_last_txn_km"}},
          {payments,
           [](Lines& lines) {
             for (std::string& line : lines) {
               if (MemberOf(line, "is_fraud") == "false") SetMember(line, "amount", "77.77");
             }
           },
           {"shares: transactions.amount of honest rows"}},
          {"customers_00000.jsonl",
           [](Lines& lines) {
             std::string cpf = MemberOf(lines[3], "cpf");
             cpf[14] = cpf[14] == '0' ? '1' : '0';
             SetMember(lines[3], "cpf", cpf);
           },
           {"CPFs: check digits hold"}},
          {"customers_00000.jsonl",
           Set("", "email", "\"someone@gmail.com\""),
           {"customers: e-mail addresses are at example domains"}},
          {"customers_00000.jsonl",
           Set("", "credit_limit", "1.00"),
           {"customers: credit_limit is 2 to 8 incomes"}},
          {"customers_00000.jsonl",
           [](Lines& lines) {
             std::string& other = LineWith(lines, MemberOf(lines[0], "state"), 1);
             SetMember(other, "cpf", MemberOf(lines[0], "cpf"));
           },
           {"keys: customers.cpf is there once"}},
          {"rides_00000.jsonl",
           Set("\"status\":\"COMPLETED\"", "tip", "null"),
           {"rides: nulls only where the schema allows them"}},
          {"rides_00000.jsonl",
           Set("\"status\":\"COMPLETED\"", "driver_rating", "null"),
           {"rides: what completed rides have is there for them only"}},
          {"rides_00000.jsonl",
           Set("\"status\":\"COMPLETED\"", "wait_time_minutes", "99"),
           {"rides: times follow from wait and duration"}},
          {"rides_00000.jsonl",
           Set("\"status\":\"COMPLETED\"", "platform_fee", "0.01"),
           {"rides: fare, pay and fee add up"}},
          {"rides_00000.jsonl",
           Set("", "driver_id", "\"DRV_0000099999\""),
           {"keys: rides.driver_id is in drivers"}},
      });
}

}  // namespace
}  // namespace reveza::datagen::check
