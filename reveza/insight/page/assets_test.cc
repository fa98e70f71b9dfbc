#include "reveza/insight/page/assets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <string_view>

namespace reveza::page {
namespace assets_test {

using nlohmann::json;

std::string TextOf(std::string_view path) {
  const auto found = std::ranges::find(Assets(), path, &Asset::path);
  return found == Assets().end() ? "" : std::string(found->text);
}

std::set<std::string> Matches(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator each(text.begin(), text.end(), expression), end; each != end; ++each) {
    found.insert((*each)[1]);
  }
  return found;
}

std::string OwnScripts() {
  std::string scripts;
  for (const Asset& asset : Assets()) {
    if (asset.path.ends_with(".js") && !asset.path.contains("uPlot")) scripts += asset.text;
  }
  return scripts;
}

TEST(Assets, AreThePageAndItsLibrary) {
  EXPECT_TRUE(TextOf("/").starts_with("<!doctype html>"));
  EXPECT_TRUE(TextOf("/uPlot.esm.js").starts_with("/*! uplot 1."));
  EXPECT_TRUE(TextOf("/uPlot.esm.js").contains("Permission is hereby granted"));
  EXPECT_TRUE(TextOf("/uPlot.esm.js").contains("export { uPlot as default }"));
}

TEST(Assets, LoadEachOtherOnly) {
  std::string pages;
  for (const char* path : {"/", "/style.css"}) pages += TextOf(path);
  EXPECT_FALSE(pages.contains("//")) << "an address elsewhere";
  for (const std::string& name : Matches(TextOf("/"), "(?:src|href)=\"([^\"#]+)\"")) {
    EXPECT_NE(TextOf("/" + name), "") << name;
  }
  for (const std::string& name : Matches(OwnScripts(), "from \"\\./([^\"]+)\"")) {
    EXPECT_NE(TextOf("/" + name), "") << name;
  }
}

// The policy forbids it, and would make the page fail.
TEST(Assets, HaveNoInlineScriptsAndNoHtmlFromText) {
  const std::string page = TextOf("/");
  EXPECT_TRUE(Matches(page, "<script([^>]*)>[^<]").empty());
  EXPECT_FALSE(page.contains("style="));
  EXPECT_TRUE(Matches(page, "[ \n](on[a-z]+)=").empty());
  const std::string scripts = OwnScripts();
  for (const char* dangerous : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                                "eval(", "new Function", "srcdoc"}) {
    EXPECT_FALSE(scripts.contains(dangerous)) << dangerous;
  }
}

TEST(Assets, TextsAreInBothLanguages) {
  const json texts = json::parse(TextOf("/texts.json"));
  for (const auto& [key, english] : texts.at("en").items()) {
    ASSERT_TRUE(texts.at("pt").contains(key)) << key;
    const std::string portuguese = texts.at("pt").at(key);
    EXPECT_EQ(Matches(english, "(\\{\\w+\\})"), Matches(portuguese, "(\\{\\w+\\})")) << key;
  }
  EXPECT_EQ(texts.at("en").size(), texts.at("pt").size());
}

TEST(Assets, TextsAreThoseThatThePageUses) {
  const json texts = json::parse(TextOf("/texts.json")).at("en");
  std::set<std::string> used = Matches(TextOf("/"), "data-text=\"(\\w+)\"");
  used.merge(Matches(OwnScripts(), "\\bt\\(\"(\\w+)\""));
  for (const std::string& key : used) EXPECT_TRUE(texts.contains(key)) << key;
  // Keys that are put together, or in lists.
  const std::string scripts = OwnScripts();
  for (const auto& [key, text] : texts.items()) {
    const bool composed = std::ranges::any_of(
        std::initializer_list<std::string_view>{"connection_", "kind_", "state_", "job_",
                                                "severity_", "priority_"},
        [&](std::string_view prefix) { return key.starts_with(prefix); });
    EXPECT_TRUE(composed || used.contains(key) || scripts.contains('"' + key + '"')) << key;
  }
}

}  // namespace assets_test
}  // namespace reveza::page
