#include "fraudgen/output/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/table/arrow.h"
#include "fraudgen/output/sinks.h"

namespace reveza::fraudgen {
namespace manifest_test {

FileManifest Sample(uint64_t block = 3) {
  FileManifest file;
  file.file = "transactions_0000" + std::to_string(block) + ".csv";
  file.table = "transactions";
  file.block = block;
  file.part = 1;
  file.rows = 2'000'000;
  file.bytes = 123'456'789;
  file.xxh3_128 = HashOf("transactions");
  file.made_by.program = "fraudgen 0.1.0";
  file.made_by.model = "classic";
  file.made_by.seed = 18'446'744'073'709'551'615u;
  file.made_by.configuration = HashOf("configuration");
  file.made_by.SetOptions({.format = Format::kCsv});
  return file;
}

constexpr std::string_view kGolden = R"({
  "manifest": 1,
  "file": "transactions_00003.csv",
  "table": "transactions",
  "block": 3,
  "part": 1,
  "rows": 2000000,
  "bytes": 123456789,
  "xxh3_128": "HASH",
  "made_by": {
    "program": "fraudgen 0.1.0",
    "model": "classic",
    "seed": 18446744073709551615,
    "configuration": "CONFIGURATION",
    "format": "csv",
    "codec": "none",
    "level": 0,
    "row_group_rows": 0,
    "money": "float",
    "nested": false,
    "classic_columns": false,
    "zone": false,
    "arrow": "",
    "zstd": ""
  }
}
)";

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(FileManifest, MatchesGoldenText) {
  const std::string golden =
      Replaced(Replaced(std::string(kGolden), "HASH", HashOf("transactions")), "CONFIGURATION",
               HashOf("configuration"));
  EXPECT_EQ(WriteFileManifest(Sample()), golden);
  EXPECT_EQ(ManifestNameOf("rides/part-00000.parquet"),
            "_fraudgen/manifest-rides.part-00000.parquet.json");
  EXPECT_EQ(ManifestNameOf("rides/year=2025/part-00000.parquet"),
            "_fraudgen/manifest-rides.year=2025.part-00000.parquet.json");
}

TEST(FileManifest, RoundTrips) {
  for (const Format format : {Format::kJsonLines, Format::kTsv, Format::kParquet, Format::kArrow}) {
    FileManifest file = Sample();
    file.made_by.SetOptions({.format = format,
                             .codec = Codec::kZstd,
                             .level = 19,
                             .row_group_rows = 65'536,
                             .money = Money::kCents,
                             .nested = true,
                             .classic_columns = true});
    const auto read = ReadFileManifest(WriteFileManifest(file), "m");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, file);
  }
}

TEST(FileManifest, EtagIsOnlyInFileManifests) {
  FileManifest file = Sample();
  file.etag = "bccb8986cc6b395e4f045d410c776698-2";
  const std::string text = WriteFileManifest(file);
  EXPECT_TRUE(text.contains("\n  \"etag\": \"bccb8986cc6b395e4f045d410c776698-2\",\n")) << text;
  const auto read = ReadFileManifest(text, "m");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, file);
  EXPECT_EQ(*WriteManifest({file}), *WriteManifest({Sample()}));
}

TEST(FileManifest, ErrorsNameFileAndMember) {
  const std::string right = WriteFileManifest(Sample());
  const auto error = [](const std::string& text) {
    const auto read = ReadFileManifest(text, "manifest-x.json");
    return read ? "none" : read.error().message;
  };
  const auto replaced = [&](std::string_view from, std::string_view to) {
    return error(Replaced(right, from, to));
  };
  EXPECT_EQ(error(right), "none");
  EXPECT_TRUE(error("").starts_with("manifest-x.json: invalid JSON: ")) << error("");
  EXPECT_TRUE(
      error(right.substr(0, right.size() / 2)).starts_with("manifest-x.json: invalid JSON: "));
  EXPECT_EQ(error("[]"), "manifest-x.json: is not an object");
  EXPECT_EQ(replaced("\"manifest\": 1", "\"manifest\": 2"),
            "manifest-x.json: manifest version 2 is not supported, only 1");
  EXPECT_EQ(replaced("\"rows\"", "\"rowz\""), "manifest-x.json: lacks 'rows'");
  EXPECT_EQ(replaced("2000000", "-1"), "manifest-x.json: 'rows' is not a whole number");
  EXPECT_EQ(replaced("2000000", "2.5"), "manifest-x.json: 'rows' is not a whole number");
  EXPECT_EQ(replaced("\"table\": \"transactions\"", "\"table\": 5"),
            "manifest-x.json: 'table' is not a string");
  EXPECT_EQ(replaced("transactions_00003.csv", "type=PIX/a.csv"), "none");
  for (const char* name : {"", "/a", "a/", "a//b", "a/../b", ".."}) {
    EXPECT_EQ(replaced("transactions_00003.csv", name),
              "manifest-x.json: 'file' is not a valid file name");
  }
  EXPECT_EQ(replaced(HashOf("transactions"), "abc"),
            "manifest-x.json: 'xxh3_128' is not 32 hexadecimal digits");
  EXPECT_EQ(replaced("\"csv\"", "\"xls\""),
            "manifest-x.json: 'made_by': 'format' has the unknown value 'xls'");
  EXPECT_EQ(replaced("\"level\": 0", "\"level\": 3000000000"),
            "manifest-x.json: 'made_by': 'level' is too large");
  EXPECT_EQ(replaced("\"zone\": false", "\"zone\": 0"),
            "manifest-x.json: 'made_by': 'zone' is not true or false");
  EXPECT_EQ(replaced("\"part\": 1,", "\"part\": 1, \"host\": \"me\","),
            "manifest-x.json: has 10 members, expected 9");
  EXPECT_EQ(replaced("\"part\": 1,", "\"part\": 2,\n  \"part\": 1,"),
            "manifest-x.json: line 6 was modified");
  EXPECT_EQ(replaced("\"part\": 1,", "\"part\":1,"), "manifest-x.json: line 6 was modified");
}

TEST(FileManifest, OtherVersionIsIncompatible) {
  const auto read = ReadFileManifest("{\"manifest\": 7}", "m");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Error::Code::kIncompatible);
}

TEST(FileManifest, RowsOfBlocksAddUp) {
  FileManifest file = Sample();
  file.rows = 12;
  file.rows_of_blocks = {5, 0, 7};
  const std::string text = WriteFileManifest(file);
  const auto read = ReadFileManifest(text, "m");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, file);
  const auto all = WriteManifest({file});
  ASSERT_TRUE(all);
  const auto listed = ReadManifest(*all, "m");
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(listed->front(), file);
  for (const std::vector<uint64_t>& wrong : {std::vector<uint64_t>{5, 8}, {12}}) {
    file.rows_of_blocks = wrong;
    EXPECT_EQ(ReadFileManifest(WriteFileManifest(file), "m").error().message,
              "m: 'rows_of_blocks' does not add up to 'rows'");
  }
}

TEST(MadeBy, IgnoresOptionsWithoutEffect) {
  const auto made = [](const TableOptions& options) {
    MadeBy made_by;
    made_by.SetOptions(options);
    return made_by;
  };
  EXPECT_EQ(made({.format = Format::kCsv, .codec = Codec::kGzip, .level = 9, .nested = true}),
            made({.format = Format::kCsv, .money = Money::kCents}));
  EXPECT_EQ(made({.format = Format::kParquet, .codec = Codec::kSnappy, .level = 9}),
            made({.format = Format::kParquet, .codec = Codec::kSnappy, .classic_columns = true}));
  EXPECT_NE(made({.format = Format::kParquet, .level = 1}),
            made({.format = Format::kParquet, .level = 2}));
  EXPECT_EQ(made({.format = Format::kParquet}).arrow, kArrowVersion);
  const MadeBy text = made({.format = Format::kCsv, .text_codec = Codec::kZstd, .level = 3});
  EXPECT_EQ(text.codec, Codec::kZstd);
  EXPECT_EQ(text.level, 3);
  EXPECT_EQ(text.arrow, kArrowVersion);
  EXPECT_EQ(text.zstd, kZstdVersion);
  EXPECT_EQ(made({.format = Format::kCsv, .text_codec = Codec::kLz4, .level = 3}),
            made({.format = Format::kCsv, .text_codec = Codec::kLz4, .level = 4}));
  EXPECT_EQ(made({.format = Format::kCsv, .level = 3}).arrow, "");
  EXPECT_EQ(made({.format = Format::kParquet, .codec = Codec::kSnappy}).zstd, "");
}

TEST(MadeBy, DescribesDifference) {
  const MadeBy there = Sample().made_by;
  MadeBy here = there;
  EXPECT_EQ(DifferenceOf(there, here), "");
  here.zone = true;
  EXPECT_EQ(DifferenceOf(there, here), "the zone is false there and true here");
  here.program = "fraudgen 0.2.0";
  EXPECT_EQ(DifferenceOf(there, here),
            "the program is 'fraudgen 0.1.0' there and 'fraudgen 0.2.0' here");
}

TEST(Manifest, DoesNotDependOnOrderOfFiles) {
  std::vector<FileManifest> files = {Sample(0), Sample(1), Sample(2), Sample(3)};
  files[2].table = "rides";
  const auto text = WriteManifest(files);
  ASSERT_TRUE(text) << text.error().message;
  std::ranges::reverse(files);
  EXPECT_EQ(*WriteManifest(files), *text);
  std::swap(files[0], files[2]);
  EXPECT_EQ(*WriteManifest(files), *text);
  EXPECT_NE(text->find(R"(    {
      "table": "transactions",
      "files": 3,
      "rows": 6000000,
      "bytes": 370370367
    })"),
            std::string::npos)
      << *text;

  const auto read = ReadManifest(*text, "manifest.json");
  ASSERT_TRUE(read) << read.error().message;
  std::ranges::sort(files, {}, &FileManifest::file);
  EXPECT_EQ(*read, files);
}

TEST(Manifest, CanBeEmpty) {
  const auto text = WriteManifest({});
  ASSERT_TRUE(text);
  const auto read = ReadManifest(*text, "manifest.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->empty());
}

TEST(Manifest, RejectsInconsistentFiles) {
  FileManifest other = Sample(4);
  other.made_by.seed = 8;
  const auto text = WriteManifest({Sample(3), other});
  ASSERT_FALSE(text);
  EXPECT_EQ(
      text.error().message,
      "transactions_00004.csv and transactions_00003.csv were made differently: the seed is 8 "
      "there and 18446744073709551615 here");
  EXPECT_FALSE(WriteManifest({Sample(3), Sample(3)}));
}

TEST(Manifest, ErrorsNameEntry) {
  const std::string right = *WriteManifest({Sample(0), Sample(1)});
  const auto error = [](const std::string& text) {
    const auto read = ReadManifest(text, "manifest.json");
    return read ? "none" : read.error().message;
  };
  EXPECT_EQ(error(right), "none");
  const auto second = right.find("transactions_00001");
  EXPECT_EQ(error(right.substr(0, second) + Replaced(right.substr(second), "123456789", "true")),
            "manifest.json: entry 2 of 'files': 'bytes' is not a whole number");
  EXPECT_EQ(error(right.substr(0, second) + Replaced(right.substr(second), "123456789", "5")),
            "manifest.json: line 24 was modified")
      << "wrong total";
  EXPECT_EQ(error(Replaced(right, "\"files\": [", "\"files\": {}, \"f\": [")),
            "manifest.json: 'files' is not a list");
  EXPECT_EQ(error(Replaced(right, "transactions_00001", "transactions_00000")),
            "manifest.json: duplicate file transactions_00000.csv");
}

TEST(Manifest, StatesModelVersionsAfterTheFirst) {
  FileManifest file = Sample();
  EXPECT_FALSE(WriteFileManifest(file).contains("model_version"));
  file.made_by.model_version = 2;
  const auto read = ReadFileManifest(WriteFileManifest(file), "m");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, file);
  EXPECT_EQ(DifferenceOf(Sample().made_by, file.made_by),
            "the model_version is 1 there and 2 here");
}

}  // namespace manifest_test
}  // namespace reveza::fraudgen
