#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "fraudgen/report/facts.h"

namespace reveza::fraudgen::report {
namespace page_test {

using Json = nlohmann::json;

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string Scripts() {
  std::string scripts;
  for (const auto& entry : std::filesystem::directory_iterator(REVEZA_REPORT_FOLDER)) {
    if (entry.path().extension() == ".js") scripts += Read(entry.path());
  }
  return scripts;
}

Json Texts() { return Json::parse(Read(std::string(REVEZA_REPORT_FOLDER) + "/texts.json")); }

std::set<std::string> Marks(const std::string& text) {
  static const std::regex mark(R"(\{(\w+)\})");
  std::set<std::string> marks;
  for (std::sregex_iterator each(text.begin(), text.end(), mark), end; each != end; ++each) {
    marks.insert((*each)[1]);
  }
  return marks;
}

TEST(Texts, BothLanguagesHaveTheSameKeys) {
  const Json texts = Texts();
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_GT(texts["en"].size(), 60u);
  for (const auto& [key, text] : texts["en"].items()) {
    ASSERT_TRUE(texts["pt"].contains(key)) << key;
    EXPECT_FALSE(text.get<std::string>().empty()) << key;
    EXPECT_FALSE(texts["pt"][key].get<std::string>().empty()) << key;
    EXPECT_EQ(Marks(text), Marks(texts["pt"][key])) << key;
  }
  EXPECT_EQ(texts["en"].size(), texts["pt"].size());
}

// Composed keys occur in scripts up to their variable part: text(`section_${...
TEST(Texts, ScriptsUseExactlyTheExistingKeys) {
  const std::string scripts = Scripts();
  const Json english = Texts()["en"];
  std::set<std::string> asked;
  const std::regex whole(R"re("([a-z]+_?[a-z_0-9]*)")re");
  for (std::sregex_iterator each(scripts.begin(), scripts.end(), whole), end; each != end; ++each) {
    asked.insert((*each)[1]);
  }
  const std::regex call(R"re(text\("([a-z_0-9]+)")re");
  for (std::sregex_iterator each(scripts.begin(), scripts.end(), call), end; each != end; ++each) {
    EXPECT_TRUE(english.contains((*each)[1].str())) << (*each)[1];
  }
  std::set<std::string> beginnings;
  const std::regex part(R"re(text\(`([a-z_]+)\$\{[^}]*\}([a-z_]*)`)re");
  for (std::sregex_iterator each(scripts.begin(), scripts.end(), part), end; each != end; ++each) {
    beginnings.insert((*each)[1]);
  }
  EXPECT_FALSE(beginnings.empty());
  for (const auto& [key, text] : english.items()) {
    const bool begins = std::ranges::any_of(
        beginnings, [&](const std::string& beginning) { return key.starts_with(beginning); });
    EXPECT_TRUE(begins || asked.contains(key)) << key << " is used by nothing";
  }
}

TEST(ReportJson, IsSafeToEmbedInHtml) {
  const Json facts = {{"name", "</script><script>alert(1)</script> \xff \xe2\x80\xa8"},
                      {"chain", {{"ring", "<!--"}}}};
  const std::string island = ReportJson(facts, Language::kPortuguese);
  EXPECT_EQ(island.find('<'), std::string::npos);
  for (const char c : island) EXPECT_TRUE(c >= ' ' && c <= '~');
  const auto json = Json::parse(island);
  EXPECT_EQ(json["language"], "pt");
  EXPECT_TRUE(json["name"].get<std::string>().starts_with("</script><script>alert(1)"));
  EXPECT_EQ(json["chain"]["ring"], "<!--");
}

TEST(Page, EmbedsFactsAndLoadsNothing) {
  if (!HavePage()) GTEST_SKIP() << "built without the chart library";
  const std::string page = PageWith("{\"here\":1}");
  EXPECT_NE(page.find("id=\"facts\">{\"here\":1}</script>"), std::string::npos);
  EXPECT_EQ(page.find("@FACTS@"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("ISC"), std::string::npos);
  EXPECT_NE(page.find("Permission to use, copy, modify"), std::string::npos);
  const std::string head = page.substr(0, page.find("<style>"));
  EXPECT_EQ(head.find("unsafe-inline'; script-src 'sha256-"), head.find("unsafe-inline'"));
  for (const char* loads : {" src=\"", " src='", "<link", "@import", "url(http"}) {
    EXPECT_EQ(page.find(loads), std::string::npos) << loads;
  }
}

}  // namespace page_test
}  // namespace reveza::fraudgen::report
