// Places without a data set, and data sets of other versions.
#include <gtest/gtest.h>

#include <algorithm>

#include "fraudgen/check/check.h"
#include "fraudgen/check/testing_data_set.h"
#include "fraudgen/model/model.h"

namespace reveza::fraudgen::check {
namespace versions_test {

namespace fs = std::filesystem;

const std::string kSettings = "settings: _fraudgen/fraudgen.toml gives the data set";

Error::Code ErrorOf(const fs::path& folder) {
  const auto result = CheckData(std::make_shared<Folder>(folder), 1, [](uint64_t) { return true; });
  EXPECT_FALSE(result);
  return result ? Error::Code::kInternal : result.error().code;
}

TEST(Check, OtherVersionsOfTheModel) {
  const TestingDataSet data("coherent");
  data.ChangeManifests([](FileManifest& file) { file.made_by.model_version = kModelVersion - 1; });
  EXPECT_EQ(data.FailedChecks(), Names());
  const CheckResult result = data.Check();
  const auto skipped = std::ranges::find(result.outcomes, kSettings, &Outcome::name);
  ASSERT_NE(skipped, result.outcomes.end());
  EXPECT_EQ(skipped->verdict, Outcome::Verdict::kSkipped);
  const std::string file = "customers/part-00000.jsonl";
  data.Write(file, data.Read(file) + "\n");
  EXPECT_EQ(data.FailedChecks(),
            (Names{"files: sizes match the manifests", "files: hashes match the manifests"}));
  data.ChangeManifests([](FileManifest& each) { each.made_by.model_version = kModelVersion + 1; });
  EXPECT_EQ(ErrorOf(data.path()), Error::Code::kIncompatible);
}

TEST(Check, MissingDataSetIsNotFound) {
  const platform::TestingDirectory empty;
  EXPECT_EQ(ErrorOf(empty.path()), Error::Code::kNotFound);
  EXPECT_EQ(ErrorOf(empty / "nothing"), Error::Code::kNotFound);
}

TEST(Check, StopsWhenAsked) {
  const TestingDataSet data("classic", [](Settings& s) {
    s.type = DataType::kTransactionsOnly;
    s.rows = 600'000;
    s.file_rows = 0;
  });
  const auto stopped =
      CheckData(std::make_shared<Folder>(data.path()), 1, [](uint64_t) { return false; });
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->stopped);
}

// Renames all files as fraudgen 0.1 did: data and manifests in one folder.
TEST(Check, VerifiesHashesOfTheOldLayout) {
  const TestingDataSet data("coherent");
  auto all = *ReadManifest(data.Read(std::string(kManifestName)), "manifest.json");
  for (FileManifest& file : all) {
    const std::string name = file.file;
    file.file = file.table + "_" + name.substr(name.find("/part-") + std::size("/part-") - 1);
    file.made_by.model_version = 1;
    fs::rename(data.path() / name, data.path() / file.file);
    data.Write(std::string(OldNameOf(ManifestNameOf(file.file))), WriteFileManifest(file));
  }
  data.Write(std::string(OldNameOf(kManifestName)), *WriteManifest(all));
  fs::rename(data.path() / kConfigurationName, data.path() / OldNameOf(kConfigurationName));
  fs::remove_all(data.path() / kMetadataFolder);
  EXPECT_EQ(data.FailedChecks(), Names());
  data.Write("customers_00099.jsonl", "{}\n");
  EXPECT_EQ(data.FailedChecks(), Names{"manifests: every data file is listed"});
  data.Remove("customers_00099.jsonl");
  data.Write("customers_00000.jsonl", "{}\n");
  EXPECT_TRUE(data.FailedChecks().contains("files: hashes match the manifests"));
}

}  // namespace versions_test
}  // namespace reveza::fraudgen::check
