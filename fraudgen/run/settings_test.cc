#include "fraudgen/run/settings.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fraudgen/run/settings_values.h"

namespace reveza::fraudgen {
namespace settings_test {

using Flags = std::vector<std::pair<std::string, std::string>>;

Result<Settings> Build(const Flags& flags) {
  SettingsBuilder builder;
  for (const auto& [key, value] : flags) RETURN_IF_ERROR(builder.AddFlag(key, value));
  return builder.Build();
}

Settings From(const Flags& flags) {
  auto settings = Build(flags);
  EXPECT_TRUE(settings) << settings.error().message;
  return *std::move(settings);
}

// Returns the error message; empty if the flags are valid.
std::string ErrorOf(const Flags& flags) {
  const auto settings = Build(flags);
  return settings ? "" : settings.error().message;
}

testing::AssertionResult Contains(const std::string& message, std::string_view part) {
  if (message.contains(part)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << message << "' lacks '" << part << "'";
}

TEST(SettingsBuilder, HasDefaults) {
  const Settings settings = From({});
  EXPECT_EQ(settings.size, 1'000'000'000u);
  EXPECT_FALSE(settings.rows);
  EXPECT_EQ(settings.fraud_rate.billionths, 20'000'000u);
  EXPECT_EQ(settings.End(), (CivilDate{2025, 12, 31}));
  EXPECT_EQ(settings.Start(), (CivilDate{2025, 1, 1}));
  EXPECT_EQ(settings.AsOf(), settings.End());
  EXPECT_EQ(settings.format, Format::kJsonLines);
}

TEST(SettingsBuilder, AcceptsEveryFlag) {
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
  EXPECT_EQ(settings.type, DataType::kAll);
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

TEST(SettingsBuilder, AcceptsParquetPartitionedAsFormat) {
  const Settings settings = From({{"format", "parquet_partitioned"}});
  EXPECT_EQ(settings.format, Format::kParquet);
  EXPECT_EQ(settings.partition, (std::vector<std::string>{"year", "month"}));
  EXPECT_EQ(From({{"partition", "type"}, {"format", "parquet_partitioned"}}).partition,
            std::vector<std::string>{"type"});
}

TEST(SettingsBuilder, ParsesSharesExactly) {
  const std::vector<std::pair<std::string, uint64_t>> shares = {
      {"0", 0},           {"1", 1'000'000'000},    {"0.02", 20'000'000},
      {"2%", 20'000'000}, {"0.07%", 700'000},      {".5", 500'000'000},
      {"0.000000001", 1}, {"100%", 1'000'000'000}, {"0.0200000000000", 20'000'000}};
  for (const auto& [text, billionths] : shares) {
    EXPECT_EQ(From({{"fraud_rate", text}}).fraud_rate.billionths, billionths) << text;
  }
  for (const char* text : {"", ".", "%", "2", "101%", "-0.1", "1.1", "0,02", "1e-3", "0.0000000001",
                           "0.0.1", "abc", "1.000000001", "99999999999999999999"}) {
    EXPECT_TRUE(Contains(ErrorOf({{"fraud_rate", text}}), "is not a share")) << text;
  }
}

TEST(SettingsBuilder, RejectsInvalidSizes) {
  EXPECT_TRUE(Contains(ErrorOf({{"size", "10"}}), "--size: "));
  EXPECT_TRUE(Contains(ErrorOf({{"size", "10 parsecs"}}), "parsecs"));
  EXPECT_TRUE(Contains(ErrorOf({{"size", "-1GB"}}), "--size: "));
  EXPECT_TRUE(Contains(ErrorOf({{"size", "0GB"}}), "above 0"));
  EXPECT_TRUE(Contains(ErrorOf({{"size", "5000TB"}}), "5000TB"));
  EXPECT_TRUE(Contains(ErrorOf({{"rows", "0"}}), "whole number from 1"));
  EXPECT_TRUE(Contains(ErrorOf({{"rows", "1e6"}}), "whole number"));
  EXPECT_TRUE(Contains(ErrorOf({{"rows", "99999999999999999999"}}), "whole number"));
}

TEST(SettingsBuilder, RejectsInvalidDates) {
  EXPECT_TRUE(Contains(ErrorOf({{"start_date", "2025-02-01"}, {"end_date", "2025-01-01"}}),
                       "start_date (2025-02-01) is after end_date (2025-01-01)"));
  EXPECT_TRUE(Contains(ErrorOf({{"end_date", "2025-02-30"}}), "--end-date: "));
  EXPECT_TRUE(
      Contains(ErrorOf({{"model", "classic"}, {"end_date", "2025-06-30"}, {"as_of", "2025-06-29"}}),
               "as_of"));
  EXPECT_TRUE(Contains(ErrorOf({{"start_date", "1969-12-31"}}), "1970 to 2149"));
  EXPECT_TRUE(Contains(ErrorOf({{"start_date", "2024-06-01"}, {"partition", "month"}}),
                       "month=06 occurs twice"));
  EXPECT_EQ(From({{"model", "classic"}, {"as_of", "2023-05-01"}}).End(), (CivilDate{2023, 5, 1}));
  EXPECT_EQ(ErrorOf({{"start_date", "2025-12-31"}}), "") << "a single day is valid";
  EXPECT_TRUE(Contains(ErrorOf({{"labels_as_of", "2024-12-31"}}), "the first (2025-01-01)"));
  EXPECT_TRUE(Contains(ErrorOf({{"labels_as_of", "2150-01-01"}}), "up to 2149-12-31"));
  EXPECT_TRUE(Contains(ErrorOf({{"labels_as_of", "June"}}), "expected YYYY-MM-DD"));
  for (const char* day : {"2025-01-01", "2025-12-31", "2026-03-01"}) {
    EXPECT_EQ(ErrorOf({{"labels_as_of", day}}), "") << day;
  }
}

TEST(SettingsBuilder, ParsesDifficulty) {
  EXPECT_EQ(From({}).difficulty, 850u);
  EXPECT_EQ(From({{"difficulty", "easy"}}).difficulty, 150u);
  EXPECT_EQ(From({{"difficulty", "hard"}}).difficulty, 850u);
  EXPECT_EQ(From({{"difficulty", "0.375"}}).difficulty, 375u);
  EXPECT_EQ(From({{"difficulty", "1"}}).difficulty, 1000u);
  for (const char* text : {"", "harder", "1.1", "0.0005", "real", "-1"}) {
    EXPECT_TRUE(Contains(ErrorOf({{"difficulty", text}}), "is not a difficulty")) << text;
  }
}

TEST(SettingsBuilder, RejectsSettingsOfTheOtherModel) {
  EXPECT_TRUE(
      Contains(ErrorOf({{"model", "classic"}, {"difficulty", "hard"}}), "--model coherent"));
  EXPECT_TRUE(Contains(ErrorOf({{"model", "classic"}, {"customers", "80000001"}}), "80000000"));
  EXPECT_EQ(ErrorOf({{"model", "classic"}, {"customers", "80000000"}}), "");
  EXPECT_EQ(ErrorOf({{"customers", "80000001"}}), "");
  EXPECT_TRUE(Contains(ErrorOf({{"profiles", "false"}}), "--no-profiles requires --model classic"));
  EXPECT_TRUE(Contains(ErrorOf({{"as_of", "2026-01-01"}}), "use --end-date"));
  SettingsBuilder file;
  ASSERT_TRUE(file.AddText("model = \"classic\"\nlabels_as_of = 2025-06-30\n", "my.toml"));
  const auto settings = file.Build();
  ASSERT_FALSE(settings) << "it must not be ignored";
  EXPECT_TRUE(Contains(settings.error().message, "labels_as_of requires --model coherent"));
}

TEST(SettingsBuilder, CustomersWithoutRowsOrSizeAreGrowing) {
  EXPECT_TRUE(From({{"customers", "50"}}).IsGrowing());
  EXPECT_TRUE(From({{"customers", "50"}}).Resolved(123).IsGrowing());
  EXPECT_FALSE(From({}).IsGrowing());
  EXPECT_FALSE(From({{"customers", "50"}, {"rows", "9"}}).IsGrowing());
  EXPECT_FALSE(From({{"customers", "50"}, {"size", "9MB"}}).IsGrowing());
  EXPECT_FALSE(From({{"customers", "50"}, {"model", "classic"}}).IsGrowing());
  EXPECT_FALSE(From({{"customers", "50"}, {"type", "rides"}}).IsGrowing());
}

TEST(SettingsBuilder, RejectsContradictions) {
  EXPECT_TRUE(Contains(ErrorOf({{"rows", "5"}, {"size", "1GB"}}), "--rows and --size"));
  const std::pair<std::string, std::string> level = {"compression_level", "3"};
  EXPECT_TRUE(Contains(ErrorOf({level}), "--compression-level requires zstd, gzip or brotli"));
  EXPECT_EQ(ErrorOf({level, {"compression", "gzip"}}), "");
  EXPECT_TRUE(Contains(ErrorOf({level, {"format", "parquet"}, {"compression", "snappy"}}),
                       "requires zstd, gzip or brotli, not snappy"));
  EXPECT_EQ(ErrorOf({level, {"format", "parquet"}}), "");
  EXPECT_TRUE(Contains(ErrorOf({{"nested", "true"}, {"format", "csv"}}), "--nested requires"));
  EXPECT_TRUE(Contains(ErrorOf({{"money", "cents"}}), "not jsonl"));
  EXPECT_TRUE(Contains(
      ErrorOf({{"format", "parquet"}, {"compression", "gzip"}, {"compression_level", "10"}}),
      "allows 1 to 9"));
  for (const char* codec : {"snappy", "brotli"}) {
    EXPECT_TRUE(Contains(ErrorOf({{"compression", codec}}), "jsonl allows zstd, gzip, lz4"));
    EXPECT_TRUE(Contains(ErrorOf({{"format", "arrow"}, {"compression", codec}}),
                         "arrow allows zstd, lz4 and none"));
  }
}

TEST(SettingsBuilder, ParsesDefects) {
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
  EXPECT_TRUE(Contains(ErrorOf({{"defects", "lat"}}), "did you mean 'late'?"));
  EXPECT_TRUE(Contains(ErrorOf({{"defects", "late,,null"}}), "'' is invalid"));
  EXPECT_TRUE(Contains(ErrorOf({{"defects", "late,late=0.1"}}), "'late=0.1' is listed twice"));
  for (const std::string share : {"0", "0.3", "real", "x", ""}) {
    EXPECT_NE(ErrorOf({{"defects", "late=" + share}}), "") << share;
  }
  EXPECT_EQ(ErrorOf({{"defects", "null"}, {"partition", "year"}}), "");
}

TEST(SettingsBuilder, SuggestsNearestName) {
  EXPECT_TRUE(Contains(ErrorOf({{"format", "paquet"}}), "did you mean 'parquet'?"));
  EXPECT_TRUE(Contains(ErrorOf({{"model", "elephant"}}), "expected one of coherent, classic"));
  EXPECT_TRUE(Contains(ErrorOf({{"identities", "save"}}), "'safe'"));
}

TEST(SettingsBuilder, CommandLineOverridesFile) {
  SettingsBuilder builder;
  ASSERT_TRUE(builder.AddText("size = \"5GB\"\nseed = 3\nmoney = \"cents\"\n", "my.toml"));
  ASSERT_TRUE(builder.AddFlag("rows", "77"));
  const auto settings = builder.Build();
  ASSERT_TRUE(settings) << settings.error().message << "; money in a file is valid for any format";
  EXPECT_EQ(settings->rows, 77u);
  EXPECT_FALSE(settings->size);
  EXPECT_EQ(settings->seed, 3u);
}

TEST(SettingsBuilder, ReportsFileAndLine) {
  SettingsBuilder builder;
  const auto unknown = builder.AddText("seed = 1\nfraud_rat = 0.1\n", "my.toml");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "my.toml:2: unknown key 'fraud_rat'; did you mean 'fraud_rate'?");
  const auto value = builder.AddText("fraud_rate = \"much\"\n", "my.toml");
  ASSERT_FALSE(value);
  EXPECT_TRUE(value.error().message.starts_with("my.toml:1: fraud_rate: 'much' is not a share"));
  const auto both = builder.AddText("rows = 1\nsize = \"1GB\"\n", "my.toml");
  ASSERT_FALSE(both);
  EXPECT_TRUE(Contains(both.error().message, "both rows and size"));
}

TEST(ConfigurationText, RoundTrips) {
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
  SettingsBuilder again;
  const auto added = again.AddText(text, "my.toml");
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(ConfigurationText(*again.Build(), Comments::kNo), text);
}

TEST(ConfigurationText, FormatsSizesInLargestUnit) {
  for (const char* size : {"10GB", "1500MB", "3TB", "1234B", "1KiB"}) {
    const std::string text = ConfigurationText(From({{"size", size}}), Comments::kNo);
    EXPECT_TRUE(Contains(text, "\nsize = \"" + std::string(size) + "\"\n"));
  }
}

TEST(Settings, ResolvedFillsDefaultsAndResetsUnusedSettings) {
  SettingsBuilder builder;
  ASSERT_TRUE(builder.AddText("size = \"2GB\"\ncompression = \"brotli\"\n", "my.toml"));
  const Settings asked = *builder.Build();
  const Settings resolved = asked.Resolved(5000);
  EXPECT_EQ(resolved.rows, 5000u);
  EXPECT_FALSE(resolved.size);
  EXPECT_EQ(resolved.as_of, (CivilDate{2025, 12, 31}));
  EXPECT_EQ(resolved.file_rows, 131'072u);
  EXPECT_EQ(ConfigurationText(resolved, Comments::kNo),
            ConfigurationText(From({{"rows", "5000"},
                                    {"start_date", "2025-01-01"},
                                    {"end_date", "2025-12-31"},
                                    {"file_rows", "131072"}})
                                  .Resolved(5000),
                              Comments::kNo))
      << "text has no such codec";
  EXPECT_EQ(resolved.compression, Codec::kNone);
  const Settings columnar =
      From({{"format", "parquet"}, {"compression", "gzip"}, {"money", "cents"}}).Resolved(1);
  EXPECT_EQ(columnar.compression, Codec::kGzip);
  EXPECT_EQ(columnar.money, Money::kCents);
  EXPECT_EQ(columnar.file_rows, 0u);
}

TEST(Settings, TextIsCompressedOnlyIfAsked) {
  EXPECT_EQ(From({}).Options().text_codec, Codec::kNone);
  EXPECT_EQ(From({{"format", "parquet"}}).Options().codec, Codec::kZstd);
  EXPECT_EQ(From({{"format", "parquet"}, {"compression", "gzip"}}).TextCodec(), Codec::kNone);
  const Settings text =
      From({{"format", "csv"}, {"compression", "gzip"}, {"compression_level", "6"}});
  EXPECT_EQ(text.Options().text_codec, Codec::kGzip);
  EXPECT_EQ(text.Options().level, 6);
  const Settings resolved = text.Resolved(10);
  EXPECT_EQ(resolved.compression, Codec::kGzip);
  EXPECT_EQ(resolved.compression_level, 6);
  EXPECT_TRUE(Contains(ConfigurationText(resolved, Comments::kNo), "\ncompression = \"gzip\"\n"));
}

// Settings with their own manifest fields must not be part of the hash.
TEST(HashedText, CoversOnlyWhatDeterminesRows) {
  const std::string text = HashedText(From({{"model", "classic"}}).Resolved(10));
  const auto other = [&](const std::string& key, const std::string& value) {
    return HashedText(From({{"model", "classic"}, {key, value}}).Resolved(10));
  };
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"type", "rides"},
                                                        {"fraud_rate", "0.03"},
                                                        {"customers", "7"},
                                                        {"start_date", "2025-02-01"},
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
  const auto parquet = [](const std::string& codec) {
    return HashedText(
        From({{"format", "parquet"}, {"file_rows", "0"}, {"compression", codec}}).Resolved(10));
  };
  EXPECT_EQ(parquet("gzip"), parquet("zstd")) << "a field of its own";
  EXPECT_NE(HashedText(From({{"model", "classic"}}).Resolved(11)), text);
  EXPECT_NE(HashedText(From({{"difficulty", "easy"}}).Resolved(10)),
            HashedText(From({}).Resolved(10)));
  EXPECT_NE(HashedText(From({{"graph", "true"}}).Resolved(10)), HashedText(From({}).Resolved(10)));
  EXPECT_NE(HashedText(From({{"labels_as_of", "2025-06-30"}}).Resolved(10)),
            HashedText(From({}).Resolved(10)));
  EXPECT_FALSE(Contains(HashedText(From({}).Resolved(10)), "labels_as_of"));
  const std::string sessions = HashedText(From({{"sessions", "true"}}).Resolved(10));
  EXPECT_TRUE(Contains(sessions, "sessions = true"));
  EXPECT_TRUE(Contains(sessions, "password_reset_thousandths"));
  EXPECT_FALSE(Contains(HashedText(From({}).Resolved(10)), "password_reset_thousandths"))
      << "without effect";
}

// Uncommenting an example gives a valid file.
TEST(ConfigurationText, HasMeaningAndValidExampleOfEveryKey) {
  const std::string text = ConfigurationText(Settings{}, Comments::kYes);
  for (const auto& [info, parse, show] : AllSettings()) {
    EXPECT_TRUE(Contains(text, info.meaning));
    EXPECT_TRUE(Contains(text, std::string(info.key) + " = "));
    const bool coherent_only = info.key == "difficulty" || info.key == "sessions" ||
                               info.key == "graph" || info.key == "labels_as_of";
    EXPECT_EQ(ErrorOf({{"model", coherent_only ? "coherent" : "classic"},
                       {std::string(info.key), std::string(info.example)},
                       {"format", "parquet"}}),
              "")
        << info.key;
  }
  SettingsBuilder again;
  EXPECT_TRUE(again.AddText(text, "my.toml"));
}

TEST(SettingsValues, CountsHaveUnits) {
  const auto count = [](std::string_view text) { return ParseCount(text, 0, 10'000'000'000); };
  for (const auto& [text, value] : {std::pair<const char*, uint64_t>{"5M", 5'000'000},
                                    {"1.5M", 1'500'000},
                                    {"0.25k", 250},
                                    {"2G", 2'000'000'000},
                                    {"17", 17}}) {
    EXPECT_EQ(count(text).value_or(0), value) << text;
  }
  for (const char* text : {"5m", "M", "1.M", ".5M", "1.2345k", "1.5", "5MB", "-1k", "5 M", "11G",
                           "99999999999999999999k", "18446744073709551615M"}) {
    EXPECT_FALSE(count(text)) << text;
  }
}

TEST(SettingsValues, SizesAreShownAsGiven) {
  for (const char* text : {"10GB", "1GiB", "1536MiB", "512kB", "3TB", "7B"}) {
    EXPECT_EQ(ShowSize(*ParseSize(text)), text);
  }
}

}  // namespace settings_test
}  // namespace reveza::fraudgen
