#include "datagen/run/settings.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "datagen/run/settings_file.h"

namespace reveza::datagen {
namespace {

Settings From(const std::vector<std::pair<std::string, std::string>>& flags) {
  Configuration configuration;
  for (const auto& [key, value] : flags) {
    const auto added = configuration.AddFlag(key, value);
    EXPECT_TRUE(added) << added.error().message;
  }
  const auto checked = configuration.Check();
  EXPECT_TRUE(checked) << checked.error().message;
  return configuration.settings();
}

// What is said about flags that do not hold; empty if they do.
std::string Refusal(const std::vector<std::pair<std::string, std::string>>& flags) {
  Configuration configuration;
  for (const auto& [key, value] : flags) {
    if (const auto added = configuration.AddFlag(key, value); !added) return added.error().message;
  }
  const auto checked = configuration.Check();
  return checked ? "" : checked.error().message;
}

testing::AssertionResult Says(const std::string& message, std::string_view part) {
  if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << message << "' lacks '" << part << "'";
}

TEST(ReadSettingsFile, TakesAKeyAndAValueALine) {
  const auto settings = ReadSettingsFile(
      "# all\n\nseed = 7 # as ever\nformat=\"csv\"\r\nmodel = 'classic'\nrows = 1_000_000\n"
      "profiles = true\nend_date = 2025-06-30\n[fraud.pix]\nshare = 0.5\nname = \"a \\\"b\\\" #\"",
      "my.toml");
  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_EQ(settings->size(), 8u);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"seed", "7"},
      {"format", "csv"},
      {"model", "classic"},
      {"rows", "1000000"},
      {"profiles", "true"},
      {"end_date", "2025-06-30"},
      {"fraud.pix.share", "0.5"},
      {"fraud.pix.name", "a \"b\" #"}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*settings)[i].key, expected[i].first);
    EXPECT_EQ((*settings)[i].value, expected[i].second);
  }
  EXPECT_EQ((*settings)[0].line, 3u);
  EXPECT_EQ((*settings)[7].line, 11u);
}

TEST(ReadSettingsFile, RefusesWhatIsNoneAndSaysWhere) {
  for (const char* text : {"seed", "= 7", "seed = ", "seed = seven", "seed = \"7", "seed = 7 8",
                           "a b = 1", "[fraud", "[fraud] x", "[]", "a..b = 1", ".a = 1", "a. = 1",
                           "x = \"a\\n\"", "x = [1, 2]", "x = \"\"\"a\"\"\"", "\x01"}) {
    const auto settings = ReadSettingsFile("\n" + std::string(text), "my.toml");
    ASSERT_FALSE(settings) << text;
    EXPECT_TRUE(settings.error().message.starts_with("my.toml:2: ")) << settings.error().message;
  }
  EXPECT_TRUE(ReadSettingsFile("", "my.toml"));
}

TEST(ReadSettingsFile, HasEachKeyOnce) {
  const auto twice = ReadSettingsFile("[a]\nx = 1\n[b]\nx = 2\n[a]\nx = 1\n", "my.toml");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message, "my.toml:6: line 2 has a.x already; leave one of them");
}

TEST(ReadSettingsFile, LooksPastTheMarkOfAnEditor) {
  const auto settings = ReadSettingsFile("\xEF\xBB\xBFseed = 7\n", "my.toml");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->at(0).key, "seed");
}

TEST(Configuration, BeginsWithWhatSuitsMost) {
  const Settings settings = From({});
  EXPECT_EQ(settings.size, 1'000'000'000u);
  EXPECT_FALSE(settings.rows);
  EXPECT_EQ(settings.fraud_rate.billionths, 20'000'000u);
  EXPECT_EQ(settings.End(), (CivilDate{2025, 12, 31}));
  EXPECT_EQ(settings.Start(), (CivilDate{2024, 12, 31}));
  EXPECT_EQ(settings.AsOf(), settings.End());
  EXPECT_EQ(settings.format, Format::kJsonLines);
}

TEST(Configuration, TakesEachFlag) {
  const Settings settings = From({{"model", "classic"},
                                  {"type", "all"},
                                  {"seed", "9"},
                                  {"rows", "1000"},
                                  {"fraud_rate", "0.5"},
                                  {"customers", "12"},
                                  {"start_date", "2020-01-01"},
                                  {"end_date", "2020-02-01"},
                                  {"as_of", "2021-01-01"},
                                  {"profiles", "false"},
                                  {"identities", "safe"},
                                  {"format", "parquet"},
                                  {"compression", "gzip"},
                                  {"compression_level", "9"},
                                  {"row_group_rows", "1000"},
                                  {"file_rows", "5000"},
                                  {"money", "cents"},
                                  {"nested", "true"},
                                  {"partition", "year,type"}});
  EXPECT_EQ(settings.type, Rows::kOfBoth);
  EXPECT_EQ(settings.seed, 9u);
  EXPECT_EQ(settings.rows, 1000u);
  EXPECT_FALSE(settings.size);
  EXPECT_EQ(settings.fraud_rate.billionths, 500'000'000u);
  EXPECT_EQ(settings.customers, 12u);
  EXPECT_EQ(settings.Start(), (CivilDate{2020, 1, 1}));
  EXPECT_EQ(settings.End(), (CivilDate{2020, 2, 1}));
  EXPECT_EQ(settings.AsOf(), (CivilDate{2021, 1, 1}));
  EXPECT_FALSE(settings.profiles);
  EXPECT_TRUE(settings.safe_identities);
  EXPECT_EQ(settings.FileRows(), 5000u);
  const TableOptions options = settings.Options();
  EXPECT_EQ(options.format, Format::kParquet);
  EXPECT_EQ(options.codec, Codec::kGzip);
  EXPECT_EQ(options.level, 9);
  EXPECT_EQ(options.row_group_rows, 1000);
  EXPECT_EQ(options.money, Money::kCents);
  EXPECT_TRUE(options.nested);
  const PartitionKeys partition = settings.Partition();
  EXPECT_EQ(partition.names, (std::vector<std::string>{"year", "type"}));
  EXPECT_EQ(partition.first_day, DaysOf({2020, 1, 1}));
  EXPECT_EQ(partition.last_day, DaysOf({2020, 2, 1}));
}

TEST(Configuration, TakesTheOriginalsNameForFolders) {
  const Settings settings = From({{"format", "parquet_partitioned"}});
  EXPECT_EQ(settings.format, Format::kParquet);
  EXPECT_EQ(settings.partition, (std::vector<std::string>{"year", "month"}));
  EXPECT_EQ(From({{"partition", "type"}, {"format", "parquet_partitioned"}}).partition,
            std::vector<std::string>{"type"});
}

TEST(Configuration, ReadsSharesExactly) {
  const std::vector<std::pair<std::string, uint64_t>> shares = {
      {"0", 0},           {"1", 1'000'000'000},    {"0.02", 20'000'000},
      {"2%", 20'000'000}, {"0.07%", 700'000},      {".5", 500'000'000},
      {"0.000000001", 1}, {"100%", 1'000'000'000}, {"0.0200000000000", 20'000'000}};
  for (const auto& [text, billionths] : shares) {
    EXPECT_EQ(From({{"fraud_rate", text}}).fraud_rate.billionths, billionths) << text;
  }
  for (const char* text : {"", ".", "%", "2", "101%", "-0.1", "1.1", "0,02", "1e-3", "0.0000000001",
                           "0.0.1", "abc", "1.000000001", "99999999999999999999"}) {
    EXPECT_TRUE(Says(Refusal({{"fraud_rate", text}}), "no share")) << text;
  }
}

TEST(Configuration, RefusesSizesNobodyCanMean) {
  EXPECT_TRUE(Says(Refusal({{"size", "10"}}), "has no unit"));
  EXPECT_TRUE(Says(Refusal({{"size", "10 parsecs"}}), "is no unit"));
  EXPECT_TRUE(Says(Refusal({{"size", "-1GB"}}), "--size: "));
  EXPECT_TRUE(Says(Refusal({{"size", "0GB"}}), "is nothing"));
  EXPECT_TRUE(Says(Refusal({{"size", "5000TB"}}), "petabyte"));
  EXPECT_TRUE(Says(Refusal({{"rows", "0"}}), "whole number from 1"));
  EXPECT_TRUE(Says(Refusal({{"rows", "1e6"}}), "whole number"));
  EXPECT_TRUE(Says(Refusal({{"rows", "99999999999999999999"}}), "whole number"));
}

TEST(Configuration, RefusesDatesThatCannotBe) {
  EXPECT_TRUE(Says(Refusal({{"start_date", "2025-02-01"}, {"end_date", "2025-01-01"}}),
                   "first day (2025-02-01) is after the last (2025-01-01)"));
  EXPECT_TRUE(Says(Refusal({{"end_date", "2025-02-30"}}), "--end-date: "));
  EXPECT_TRUE(
      Says(Refusal({{"model", "classic"}, {"end_date", "2025-06-30"}, {"as_of", "2025-06-29"}}),
           "as_of"));
  EXPECT_TRUE(Says(Refusal({{"start_date", "1969-12-31"}}), "1970 to 2149"));
  EXPECT_EQ(From({{"model", "classic"}, {"as_of", "2023-05-01"}}).End(), (CivilDate{2023, 5, 1}));
  EXPECT_EQ(Refusal({{"start_date", "2025-12-31"}}), "") << "one day is a span";
}

TEST(Configuration, ReadsDifficulties) {
  EXPECT_EQ(From({}).difficulty, 500u);
  EXPECT_EQ(From({{"difficulty", "easy"}}).difficulty, 150u);
  EXPECT_EQ(From({{"difficulty", "hard"}}).difficulty, 850u);
  EXPECT_EQ(From({{"difficulty", "0.375"}}).difficulty, 375u);
  EXPECT_EQ(From({{"difficulty", "1"}}).difficulty, 1000u);
  for (const char* text : {"", "harder", "1.1", "0.0005", "real", "-1"}) {
    EXPECT_TRUE(Says(Refusal({{"difficulty", text}}), "no difficulty")) << text;
  }
}

TEST(Configuration, RefusesWhatAModelDoesNotHave) {
  EXPECT_TRUE(Says(Refusal({{"model", "classic"}, {"difficulty", "hard"}}), "--model coherent"));
  EXPECT_TRUE(Says(Refusal({{"profiles", "false"}}), "--no-profiles is for --model classic"));
  EXPECT_TRUE(Says(Refusal({{"as_of", "2026-01-01"}}), "write --end-date"));
}

TEST(Configuration, CustomersAloneGrow) {
  EXPECT_TRUE(From({{"customers", "50"}}).Growing());
  EXPECT_TRUE(From({{"customers", "50"}}).Resolved(123).Growing());
  EXPECT_FALSE(From({}).Growing());
  EXPECT_FALSE(From({{"customers", "50"}, {"rows", "9"}}).Growing());
  EXPECT_FALSE(From({{"customers", "50"}, {"size", "9MB"}}).Growing());
  EXPECT_FALSE(From({{"customers", "50"}, {"model", "classic"}}).Growing());
  EXPECT_FALSE(From({{"customers", "50"}, {"type", "rides"}}).Growing());
}

TEST(Configuration, RefusesWhatDoesNotGoTogether) {
  EXPECT_TRUE(Says(Refusal({{"rows", "5"}, {"size", "1GB"}}), "--rows and --size"));
  const std::pair<std::string, std::string> level = {"compression_level", "3"};
  EXPECT_TRUE(Says(Refusal({level}), "--compression-level is for --format parquet or arrow"));
  EXPECT_TRUE(Says(Refusal({level, {"format", "parquet"}, {"compression", "snappy"}}),
                   "is for zstd, gzip or brotli, not for snappy"));
  EXPECT_EQ(Refusal({level, {"format", "parquet"}}), "");
  EXPECT_TRUE(Says(Refusal({{"nested", "true"}, {"format", "csv"}}), "--nested is for"));
  EXPECT_TRUE(Says(Refusal({{"money", "cents"}}), "not for jsonl"));
  EXPECT_TRUE(
      Says(Refusal({{"format", "parquet"}, {"compression", "gzip"}, {"compression_level", "10"}}),
           "goes to 9"));
  EXPECT_EQ(Refusal({{"compression", "snappy"}}), "") << "as it always was: of no effect";
}

TEST(Configuration, ReadsDefectsWithTheirShares) {
  const auto shares = [](const std::string& text) {
    std::vector<uint64_t> found;
    for (const Share share : From({{"defects", text}}).defects.of) {
      found.push_back(share.billionths);
    }
    return found;
  };
  EXPECT_EQ(shares("late=0.02,null"), (std::vector<uint64_t>{20'000'000, 0, 0, 10'000'000, 0}));
  EXPECT_EQ(shares("schema=20%,duplicate,outoforder=0.000000001"),
            (std::vector<uint64_t>{0, 10'000'000, 1, 0, 200'000'000}));
  EXPECT_EQ(shares("none"), std::vector<uint64_t>(5, 0));
  EXPECT_TRUE(Says(Refusal({{"defects", "lat"}}), "did you mean 'late'?"));
  EXPECT_TRUE(Says(Refusal({{"defects", "late,,null"}}), "there is no ''"));
  EXPECT_TRUE(Says(Refusal({{"defects", "late,late=0.1"}}), "'late=0.1' is there twice"));
  for (const std::string share : {"0", "0.3", "real", "x", ""}) {
    EXPECT_NE(Refusal({{"defects", "late=" + share}}), "") << share;
  }
  EXPECT_EQ(Refusal({{"defects", "null"}, {"partition", "year"}}), "");
}

TEST(Configuration, ProposesTheNearestWord) {
  EXPECT_TRUE(Says(Refusal({{"format", "paquet"}}), "did you mean 'parquet'?"));
  EXPECT_TRUE(Says(Refusal({{"model", "elephant"}}), "write one of coherent, classic"));
  EXPECT_TRUE(Says(Refusal({{"identities", "save"}}), "'safe'"));
}

TEST(Configuration, TheCommandLineIsOverTheFile) {
  Configuration configuration;
  ASSERT_TRUE(configuration.AddText("size = \"5GB\"\nseed = 3\nmoney = \"cents\"\n", "my.toml"));
  ASSERT_TRUE(configuration.AddFlag("rows", "77"));
  ASSERT_TRUE(configuration.Check()) << "money in a file may stand beside any format";
  const Settings settings = configuration.settings();
  EXPECT_EQ(settings.rows, 77u);
  EXPECT_FALSE(settings.size);
  EXPECT_EQ(settings.seed, 3u);
}

TEST(Configuration, SaysWhereTheFileIsWrong) {
  Configuration configuration;
  const auto unknown = configuration.AddText("seed = 1\nfraud_rat = 0.1\n", "my.toml");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "my.toml:2: unknown key 'fraud_rat'; did you mean 'fraud_rate'?");
  const auto value = configuration.AddText("fraud_rate = \"much\"\n", "my.toml");
  ASSERT_FALSE(value);
  EXPECT_TRUE(value.error().message.starts_with("my.toml:1: fraud_rate: 'much' is no share"));
  const auto both = configuration.AddText("rows = 1\nsize = \"1GB\"\n", "my.toml");
  ASSERT_FALSE(both);
  EXPECT_TRUE(Says(both.error().message, "both rows and size"));
}

TEST(ConfigurationText, SaysTheSameWhenItIsReadAgain) {
  const Settings settings = From({{"model", "classic"},
                                  {"type", "rides"},
                                  {"rows", "1000"},
                                  {"fraud_rate", "0.000000007"},
                                  {"start_date", "2020-01-01"},
                                  {"identities", "safe"},
                                  {"format", "parquet"},
                                  {"nested", "true"},
                                  {"partition", "year,type"}});
  const std::string text = ConfigurationText(settings, Comments::kNo);
  Configuration again;
  const auto added = again.AddText(text, "my.toml");
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(ConfigurationText(again.settings(), Comments::kNo), text);
}

TEST(ConfigurationText, HasSizesAsPeopleWriteThem) {
  for (const char* size : {"10GB", "1500MB", "3TB", "1234B"}) {
    const std::string text = ConfigurationText(From({{"size", size}}), Comments::kNo);
    EXPECT_TRUE(Says(text, "\nsize = \"" + std::string(size) + "\"\n"));
  }
  EXPECT_TRUE(Says(ConfigurationText(From({{"size", "1KiB"}}), Comments::kNo), "\"1024B\""));
}

TEST(Settings, ResolvedLeaveNothingOpen) {
  const Settings asked = From({{"size", "2GB"}, {"compression", "gzip"}});
  const Settings resolved = asked.Resolved(5000);
  EXPECT_EQ(resolved.rows, 5000u);
  EXPECT_FALSE(resolved.size);
  EXPECT_EQ(resolved.as_of, (CivilDate{2025, 12, 31}));
  EXPECT_EQ(resolved.file_rows, 131'072u);
  EXPECT_EQ(ConfigurationText(resolved, Comments::kNo),
            ConfigurationText(From({{"rows", "5000"},
                                    {"start_date", "2024-12-31"},
                                    {"end_date", "2025-12-31"},
                                    {"file_rows", "131072"}})
                                  .Resolved(5000),
                              Comments::kNo))
      << "a codec has no effect on text";
  const Settings columnar =
      From({{"format", "parquet"}, {"compression", "gzip"}, {"money", "cents"}}).Resolved(1);
  EXPECT_EQ(columnar.compression, Codec::kGzip);
  EXPECT_EQ(columnar.money, Money::kCents);
  EXPECT_EQ(columnar.file_rows, 0u);
}

// What a manifest says in words must not hide behind the hash.
TEST(HashedText, HasWhatDecidesTheRowsAndNoMore) {
  const std::string text = HashedText(From({{"model", "classic"}}).Resolved(10));
  const auto other = [&](const std::string& key, const std::string& value) {
    return HashedText(From({{"model", "classic"}, {key, value}}).Resolved(10));
  };
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"type", "rides"},
                                                        {"fraud_rate", "0.03"},
                                                        {"customers", "7"},
                                                        {"start_date", "2025-01-01"},
                                                        {"end_date", "2026-01-01"},
                                                        {"as_of", "2026-01-01"},
                                                        {"profiles", "false"},
                                                        {"identities", "safe"},
                                                        {"file_rows", "99"},
                                                        {"partition", "type"},
                                                        {"defects", "late"}}) {
    EXPECT_NE(other(key, value), text) << key;
  }
  EXPECT_EQ(other("seed", "2"), text);
  EXPECT_EQ(other("compression", "gzip"), text);
  EXPECT_NE(HashedText(From({{"model", "classic"}}).Resolved(11)), text);
  EXPECT_NE(HashedText(From({{"difficulty", "hard"}}).Resolved(10)),
            HashedText(From({}).Resolved(10)));
  EXPECT_NE(HashedText(From({{"graph", "true"}}).Resolved(10)), HashedText(From({}).Resolved(10)));
}

// The examples are values too: who removes the sign of the comment has something that holds.
TEST(ConfigurationText, ExplainsEachKeyWithAnExampleThatHolds) {
  const std::string text = ConfigurationText(Settings{}, Comments::kYes);
  for (const SettingInfo& info : AllSettings()) {
    EXPECT_TRUE(Says(text, info.meaning));
    EXPECT_TRUE(Says(text, std::string(info.key) + " = "));
    const bool lives = info.key == "difficulty" || info.key == "graph";
    EXPECT_EQ(Refusal({{"model", lives ? "coherent" : "classic"},
                       {std::string(info.key), std::string(info.example)},
                       {"format", "parquet"}}),
              "")
        << info.key;
  }
  Configuration again;
  EXPECT_TRUE(again.AddText(text, "my.toml"));
}

}  // namespace
}  // namespace reveza::datagen
