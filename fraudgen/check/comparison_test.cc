// Files that span blocks, which only large data sets have, by a small model.
#include "fraudgen/check/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/platform/testing_directory.h"
#include "fraudgen/check/testing_data_set.h"
#include "fraudgen/run/testing_runs.h"

namespace reveza::fraudgen::check {
namespace comparison_test {

constexpr uint64_t kGroupBlocks = 4;

class ComparisonTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(RunIn(place_.path(), {.group_blocks = kGroupBlocks})); }

  // Returns the names of failed checks.
  Names Failed(const Model* other = nullptr) {
    const TestingModel own(1, kRows, kBlockRows);
    const Model& model = other == nullptr ? own : *other;
    DataSet data{.place = std::make_shared<Folder>(place_.path()),
                 .complete = true,
                 .files = {},
                 .made_by = {},
                 .settings_name = "",
                 .known = {}};
    const auto text = data.place->ReadSmall(kManifestName);
    data.files = *ReadManifest(**text, "manifest.json");
    const auto plan =
        Plan::Make(model, Format::kCsv, kFileRows, {}, {}, Codec::kNone, kGroupBlocks);
    const TableOptions options{.format = Format::kCsv};
    Comparison comparison(data, model, *plan, options);
    EXPECT_TRUE(*comparison.CompareBytes(3, [](uint64_t) { return true; }));
    std::vector<Outcome> outcomes;
    comparison.Report(outcomes);
    differences_ = comparison.TakeDifferences();
    Names names;
    for (const Outcome& outcome : outcomes) {
      if (outcome.verdict == Outcome::Verdict::kFailed) names.insert(outcome.name);
    }
    return names;
  }

  platform::TestingDirectory place_;
  std::vector<FileDifferences> differences_;
};

TEST_F(ComparisonTest, FindsDamageInFilesThatSpanBlocks) {
  EXPECT_EQ(Failed(), Names());
  const auto file = place_ / "people/part-00001.csv";
  std::string text;
  {
    std::ifstream stream(file);
    text.assign(std::istreambuf_iterator<char>(stream), {});
  }
  // The third person of the second file.
  std::size_t at = 0;
  for (int i = 0; i < 3; ++i) at = text.find('\n', at) + 1;
  text[at] = 'Q';
  std::ofstream(file, std::ios::trunc) << text;
  EXPECT_EQ(Failed(), Names{"people: values are those of the settings"});
  ASSERT_EQ(differences_.size(), 1u);
  EXPECT_EQ(differences_[0].count, 1u);
  EXPECT_EQ(differences_[0].first[0].row, 3u);
  EXPECT_EQ(differences_[0].first[0].column, "person_id");
}

TEST_F(ComparisonTest, FindsFilesOfOtherSettings) {
  const TestingModel larger(1, kRows + 4 * kBlockRows, kBlockRows);
  EXPECT_TRUE(Failed(&larger).contains("files: those that the settings give, and no others"));
}

}  // namespace comparison_test
}  // namespace reveza::fraudgen::check
