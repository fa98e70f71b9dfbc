#include "fraudgen/check/check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/table/arrow.h"
#include "fraudgen/check/testing_data_set.h"
#include "fraudgen/check/testing_swapped_model.h"

namespace reveza::fraudgen::check {
namespace check_test {

const std::string kManifests = "manifests: rows, sizes and hashes are those of the settings";
const std::string kSettings = "settings: _fraudgen/fraudgen.toml gives the data set";

std::string ValuesOf(const std::string& table) {
  return table + ": values are those of the settings";
}

struct Variant {
  std::string name;
  Change change;
};

// Every format, and options that change its files.
std::vector<Variant> Variants() {
  std::vector<Variant> variants;
  for (const Format format : {Format::kJsonLines, Format::kJson, Format::kCsv, Format::kTsv,
                              Format::kParquet, Format::kArrow}) {
    if (!kHaveArrow && IsColumnar(format)) continue;
    variants.push_back({std::string(NameOf(format)), [=](Settings& s) { s.format = format; }});
    for (const Codec codec : {Codec::kZstd, Codec::kGzip, Codec::kLz4}) {
      if (!kHaveArrow || IsColumnar(format)) continue;
      variants.push_back({fmt::format("{} {}", NameOf(format), NameOf(codec)), [=](Settings& s) {
                            s.format = format;
                            s.compression = codec;
                          }});
    }
  }
  if (!kHaveArrow) return variants;
  for (const Money money : {Money::kDecimal, Money::kCents}) {
    for (const Format format : {Format::kParquet, Format::kArrow}) {
      variants.push_back(
          {fmt::format("nested {} {}", NameOf(format), NameOf(money)), [=](Settings& s) {
             s.format = format;
             s.money = money;
             s.nested = true;
           }});
    }
  }
  return variants;
}

// The same with fewer rows, for tests of many data sets.
std::vector<Variant> SmallVariants() {
  std::vector<Variant> variants = Variants();
  for (Variant& variant : variants) {
    variant.change = [change = variant.change](Settings& settings) {
      settings.rows = 2'000;
      settings.customers = 50;
      settings.file_rows = 800;
      change(settings);
    };
  }
  return variants;
}

TEST(Check, PassesInEveryFormat) {
  for (const auto& [variant, change] : SmallVariants()) {
    const TestingDataSet data("coherent", change);
    EXPECT_EQ(data.Findings(), NoFindings()) << variant;
  }
  for (const std::string name : {"classic", "rides"}) {
    EXPECT_EQ(TestingDataSet(name).Findings(), NoFindings()) << name;
  }
}

TEST(Check, PassesWithOtherTablesFoldersAndDefects) {
  const std::vector<Variant> variants = {
      {"graph", [](Settings& s) { s.graph = true; }},
      {"sessions", [](Settings& s) { s.sessions = true; }},
      {"year, month", [](Settings& s) { s.partition = {"year", "month"}; }},
      {"type", [](Settings& s) { s.partition = {"type", "is_fraud"}; }},
      {"all", [](Settings& s) { s.type = DataType::kAll; }},
      {"safe", [](Settings& s) { s.safe_identities = true; }},
      {"labels as of a day",
       [](Settings& s) {
         s.type = DataType::kAll;
         s.graph = true;
         s.partition = {"is_fraud"};
         s.labels_as_of = CivilDate{2025, 6, 30};
       }},
      {"defects",
       [](Settings& s) {
         for (Share& share : s.defects.of) share = {.billionths = 20'000'000};
       }},
      {"growing",
       [](Settings& s) {
         s.rows.reset();
         s.start_date = CivilDate{2025, 1, 1};
         s.end_date = CivilDate{2025, 2, 28};
       }},
      {"two blocks", [](Settings& s) {
         s.rows = 130'000;
         s.file_rows = 50'000;
       }}};
  for (const auto& [variant, change] : variants) {
    const TestingDataSet data("coherent", change);
    EXPECT_EQ(data.Findings(), NoFindings()) << variant;
  }
}

// Each value is right in another row, and the manifests are those of the wrong files.
TEST(Check, FindsOneWrongValueInEveryColumnOfEveryFormat) {
  for (const std::string name : {"classic", "coherent"}) {
    for (const auto& [variant, change] : Variants()) {
      SwappedModel::Counts swaps;
      const TestingDataSet data(
          name,
          [&](Settings& settings) {
            settings.type = DataType::kAll;
            settings.sessions = settings.graph = name == "coherent";
            change(settings);
          },
          [&](std::unique_ptr<Model> base) {
            return std::make_unique<SwappedModel>(std::move(base), swaps);
          });
      SwappedModel::Counts found;
      for (const FileDifferences& file : data.Check().files) found[file.table] += file.count;
      EXPECT_EQ(found, swaps) << name << " " << variant;
      EXPECT_EQ(swaps.size(), name == "classic" ? 5u : 16u) << "tables";
      EXPECT_GT(swaps["transactions"], 35u);
    }
  }
}

void Replace(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from << " in " << text;
  text.replace(at, from.size(), to);
}

TEST(Check, SaysWhatWasFoundAndExpected) {
  const std::string file = "transactions/part-00001.jsonl";
  const TestingDataSet data("coherent");
  std::string text = data.Read(file);
  const std::size_t second = text.find('\n') + 1;
  const std::size_t at =
      text.find("\"mcc_code\":\"", second) + std::string("\"mcc_code\":\"").size();
  const std::string right = text.substr(at, 4);
  const std::string wrong = right == "5814" ? "5812" : "5814";
  text.replace(at, 4, wrong);
  data.WriteAsMade(file, text);
  const CheckResult result = data.Check();
  ASSERT_EQ(result.files.size(), 1u);
  EXPECT_EQ(result.files[0].file, file);
  EXPECT_EQ(result.files[0].count, 1u);
  const Difference& difference = result.files[0].first.at(0);
  const auto row = 1 + static_cast<uint64_t>(std::count(
                           text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  EXPECT_EQ(difference.row, row);
  EXPECT_EQ(difference.column, "mcc_code");
  EXPECT_EQ(difference.found, "\"" + wrong + "\"");
  EXPECT_EQ(difference.expected, "\"" + right + "\"");
  EXPECT_EQ(data.FailedChecks(), (Names{kManifests, ValuesOf("transactions")}));
}

// In each format: a file that ends early, that is empty, that has the rows of another file.
TEST(Check, FindsWrongFiles) {
  for (const auto& [variant, change] : SmallVariants()) {
    if (variant.starts_with("nested") || variant.starts_with("tsv ")) continue;
    const TestingDataSet data("classic", change);
    std::vector<std::string> files;
    for (const std::string& name : data.Names()) {
      if (name.starts_with("transactions/")) files.push_back(name);
    }
    ASSERT_GE(files.size(), 2u) << variant;
    const std::string whole = data.Read(files[1]);
    const Names values = {kManifests, ValuesOf("transactions")};
    for (const std::string& damaged :
         {whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() - 5), whole + whole,
          std::string(), data.Read(files[0])}) {
      data.WriteAsMade(files[1], damaged);
      EXPECT_EQ(data.FailedChecks(), values) << variant << " " << damaged.size();
    }
    data.WriteAsMade(files[1], whole);
    EXPECT_EQ(data.FailedChecks(), Names()) << variant;
    const std::string extra = "transactions/part-00099" + files[1].substr(files[1].find('.'));
    data.Write(extra, whole);
    EXPECT_EQ(data.FailedChecks(), Names{"manifests: every data file is listed"}) << variant;
    data.Remove(extra);
    data.Remove(files[1]);
    EXPECT_EQ(data.FailedChecks(), Names{"files: none is missing"}) << variant;
  }
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// A missing or repeated row is one difference; swapped rows are two or three.
TEST(Check, FindsMovedRows) {
  for (const Format format : {Format::kJsonLines, Format::kCsv}) {
    const TestingDataSet data("coherent", [&](Settings& s) { s.format = format; });
    const std::string file = fmt::format("transactions/part-00000.{}", NameOf(format));
    const std::string whole = data.Read(file);
    const auto differences_after = [&](const auto& change) {
      auto lines = LinesOf(whole);
      change(lines);
      data.WriteAsMade(file, Join(lines));
      const CheckResult result = data.Check();
      EXPECT_EQ(result.files.size(), 1u);
      return result.files.empty() ? FileDifferences() : result.files[0];
    };
    const uint64_t header = format == Format::kCsv ? 1 : 0;
    const FileDifferences missing =
        differences_after([](auto& lines) { lines.erase(lines.begin() + 100); });
    EXPECT_EQ(missing.count, 1u);
    EXPECT_EQ(missing.first.at(0).row, 101 - header);
    EXPECT_EQ(missing.first.at(0).found, "");
    const FileDifferences repeated =
        differences_after([](auto& lines) { lines.insert(lines.begin() + 100, lines[99]); });
    EXPECT_EQ(repeated.count, 1u);
    EXPECT_EQ(repeated.first.at(0).row, 101 - header);
    EXPECT_EQ(repeated.first.at(0).expected, "");
    const FileDifferences longer =
        differences_after([](auto& lines) { lines.insert(lines.end(), {"{}\n", "{}\n"}); });
    EXPECT_EQ(longer.count, 2u);
    EXPECT_EQ(longer.first.at(0).row, 3'001u);
    EXPECT_GT(differences_after([](auto& lines) { std::swap(lines[100], lines[101]); }).count, 0u);
    EXPECT_GT(differences_after([](auto& lines) { std::swap(lines[100], lines[200]); }).count, 10u);
    EXPECT_GT(differences_after([](auto& lines) { lines.pop_back(); }).count, 0u);
    EXPECT_GT(differences_after([](auto& lines) { lines.back() = "{}\n"; }).count, 0u);
  }
}

// Bytes that no value shows: a line end, the name of the writer in Parquet's footer.
TEST(Check, FindsBytesThatAreNoValues) {
  const TestingDataSet lines("coherent");
  const std::string file = "accounts/part-00000.jsonl";
  std::string text = lines.Read(file);
  text.insert(1, " ");
  lines.WriteAsMade(file, text);
  EXPECT_EQ(lines.FailedChecks(), (Names{kManifests, ValuesOf("accounts")}));
  if (!kHaveArrow) return;
  const TestingDataSet data("coherent", [](Settings& s) { s.format = Format::kParquet; });
  const std::string parquet = "accounts/part-00000.parquet";
  std::string bytes = data.Read(parquet);
  Replace(bytes, "(build reveza)", "(build revezb)");
  data.WriteAsMade(parquet, bytes);
  const CheckResult result = data.Check();
  ASSERT_EQ(result.files.size(), 1u);
  EXPECT_EQ(result.files[0].count, 1u);
  EXPECT_EQ(result.files[0].first[0].row, 0u);
}

TEST(Check, FindsAnotherDataSet) {
  const TestingDataSet data("coherent");
  const TestingDataSet other("coherent", [](Settings& settings) { settings.seed = 6; });
  // Its file alone, its file with the manifest, and its settings.
  const std::string file = "devices/part-00000.jsonl";
  data.WriteAsMade(file, other.Read(file));
  EXPECT_EQ(data.FailedChecks(), (Names{kManifests, ValuesOf("devices")}));
  data.Write(ManifestNameOf(file), other.Read(ManifestNameOf(file)));
  EXPECT_TRUE(data.FailedChecks().contains("manifests: manifest.json matches the file manifests"));
  const std::string settings(kConfigurationName);
  data.Write(settings, other.Read(settings));
  EXPECT_TRUE(data.FailedChecks().contains(kSettings));
}

TEST(Check, FindsChangedManifestsAndSettings) {
  const TestingDataSet data("coherent");
  const auto expect = [&](const std::string& file, std::string_view from, std::string_view to,
                          const std::string& check) {
    const std::string whole = data.Read(file);
    std::string changed = whole;
    Replace(changed, from, to);
    data.Write(file, changed);
    EXPECT_TRUE(data.FailedChecks().contains(check)) << file << " " << from;
    data.Write(file, whole);
  };
  const std::string own = ManifestNameOf("customers/part-00000.jsonl");
  const std::string agree = "manifests: manifest.json matches the file manifests";
  expect(own, "\"rows\": 150", "\"rows\": 151", agree);
  expect(own, "\"seed\": 5", "\"seed\": 6", agree);
  expect(own, "{", "[", "manifests: readable");
  expect(std::string(kManifestName), "\"seed\": 5", "\"seed\": 6", kSettings);
  expect(std::string(kConfigurationName), "seed = 5", "seed = 6", kSettings);
  expect(std::string(kConfigurationName), "seed = 5", "speed = 5", kSettings);
  EXPECT_EQ(data.FailedChecks(), Names());

  data.Remove(own);
  EXPECT_EQ(data.FailedChecks(), Names{agree});
  data.Remove(std::string(kConfigurationName));
  EXPECT_EQ(data.FailedChecks(), (Names{agree, kSettings}));
}

// The manifests of all files say the same wrong rows.
TEST(Check, FindsManifestsThatAgreeWithEachOther) {
  const TestingDataSet data("coherent");
  data.ChangeManifests([](FileManifest& file) {
    if (file.table == "customers") ++file.rows;
  });
  EXPECT_EQ(data.FailedChecks(), Names{kManifests});
}

// What an interrupted run left is checked, and the run can be continued.
TEST(Check, LeavesIncompleteDataAsItIs) {
  const TestingDataSet data("coherent");
  data.Remove(std::string(kManifestName));
  for (const std::string file :
       {"transactions/part-00001.jsonl", "transactions/part-00002.jsonl"}) {
    data.Remove(file);
    data.Remove(ManifestNameOf(file));
  }
  const auto names = data.Names();
  EXPECT_EQ(data.FailedChecks(), Names{"manifests: manifest.json matches the file manifests"});
  EXPECT_EQ(data.Names(), names);
  auto run =
      PrepareRun(TestingSettings("coherent"), {}, 1, [](uint64_t, uint64_t) { return true; });
  ASSERT_TRUE(run);
  Folder folder(data.path());
  const auto result = fraudgen::Run(*run->model, run->plan, run->Options(1), folder,
                                    [](const Progress&) { return true; });
  ASSERT_TRUE(result && result->complete);
  EXPECT_EQ(result->progress.files_made, 2u);
  EXPECT_EQ(data.FailedChecks(), Names());
}

// Files of another version of the program or its libraries have other bytes.
TEST(Check, OtherVersionsOfTheProgramCompareValues) {
  for (const auto& [variant, change] : SmallVariants()) {
    if (variant.starts_with("tsv") || variant.starts_with("json ")) continue;
    const TestingDataSet data("coherent", change);
    data.ChangeManifests([](FileManifest& file) {
      file.made_by.program = "fraudgen 0.0.1";
      if (!file.made_by.arrow.empty()) file.made_by.arrow = "1.0.0";
    });
    EXPECT_EQ(data.FailedChecks(), Names()) << variant;
    SwappedModel::Counts swaps;
    const TestingDataSet wrong("coherent", change, [&](std::unique_ptr<Model> base) {
      return std::make_unique<SwappedModel>(std::move(base), swaps);
    });
    wrong.ChangeManifests([](FileManifest& file) { file.made_by.program = "fraudgen 0.0.1"; });
    SwappedModel::Counts found;
    for (const FileDifferences& file : wrong.Check().files) found[file.table] += file.count;
    EXPECT_EQ(found, swaps) << variant;
  }
}

}  // namespace check_test
}  // namespace reveza::fraudgen::check
