#include "common/settings/document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reveza {
namespace document_test {

// Formats a document with its locations: "key@1:2=...".
std::string Show(const Node& node) {
  std::string text = fmt::format("@{}:{}", node.location.line, node.location.column);
  if (node.kind == Node::Kind::kArray) {
    for (const Node& item : node.items) text += (&item == &node.items[0] ? "[" : ",") + Show(item);
    return text + "]";
  }
  if (node.kind == Node::Kind::kTable) {
    for (const Member& member : node.members) {
      text += fmt::format("{}{}@{}:{}={}", &member == &node.members[0] ? "{" : ",", member.key,
                          member.location.line, member.location.column, Show(member.value));
    }
    return text + "}";
  }
  constexpr std::string_view kKinds = "twnb__o";
  return fmt::format("{}{}", kKinds[static_cast<std::size_t>(node.kind)], node.text) + text;
}

std::string Toml(std::string_view text) {
  const auto node = ParseToml(text, "f");
  return node ? Show(*node) : node.error().message;
}

std::string Json(std::string_view text) {
  const auto node = ParseJson(text, "f");
  return node ? Show(*node) : node.error().message;
}

TEST(ParseToml, KeepsLocationsAndOrder) {
  EXPECT_EQ(Toml("b = 1\na = [0.5, true]\n\n[t]\n  s = 'x'"),
            "@1:1{b@1:1=w1@1:5,a@2:1=@2:5[n0.5@2:6,btrue@2:11],t@4:2=@4:1{s@5:3=tx@5:7}}");
  EXPECT_EQ(Toml("a = 2026-11-22"), "@1:1{a@1:1=o2026-11-22@1:5}");
}

TEST(ParseToml, ErrorsHaveLocations) {
  EXPECT_EQ(Toml("a = \n").find("f:1:5: "), 0u) << Toml("a = \n");
  EXPECT_EQ(Toml("a = 1\na = 2\n").find("f:2:"), 0u) << Toml("a = 1\na = 2\n");
  EXPECT_EQ(Toml("a = 1\n[\n[\n"), "f:2:1: not valid TOML; expected key = value, or [table]");
  EXPECT_EQ(Toml("a = \"\\u0000\""), "f:1:5: a NUL byte cannot be part of a value");
}

TEST(ParseToml, RejectsNonAsciiOutsideStrings) {
  EXPECT_EQ(Toml("# é\n\"é\" = 'ü' # ä\nb = \"\"\"\né\"\"\"\"\" # ö"),
            "@1:1{é@2:1=tü@2:7,b@3:1=té\"\"@3:5}");
  EXPECT_TRUE(Toml("a = \"x\"\nrum ä").starts_with("f:2:5: "));
}

TEST(ParseToml, KeepsAnyCharacterAfterAContinuedLine) {
  for (const std::string_view letter : {"\xC3\xA1", "\xC3\x87", "\xEF\xBA\xBF", "\xE2\xB1\xA0"}) {
    EXPECT_EQ(Toml(fmt::format("a = \"\"\"b\\\n  {}c\"\"\"", letter)),
              fmt::format("@1:1{{a@1:1=tb{}c@1:5}}", letter));
  }
}

TEST(ParseJson, KeepsLocationsAndOrder) {
  EXPECT_EQ(Json("{\"b\": 1,\n \"a\": [0.50, true, -3, 1e3],\"t\":{\n\"s\":\"x\\\"\\\\\"}, "
                 "\"é\":null }"),
            "@1:1{b@1:2=w1@1:7,a@2:2=@2:7[n0.50@2:8,btrue@2:14,w-3@2:20,n1e3@2:24],t@2:29=@2:33{"
            "s@3:1=tx\"\\@3:5},é@3:15=onull@3:19}");
}

TEST(ParseJson, ErrorsHaveLocations) {
  EXPECT_EQ(Json("{\n \"a\": x}").find("f:2:7: "), 0u) << Json("{\n \"a\": x}");
  EXPECT_EQ(Json("{\"a\": 1,\n \"a\": 2}"), "f:2:2: duplicate key 'a', first in line 1");
  EXPECT_EQ(Json("[1]"), "f:1:1: expected an object: { ... }");
  EXPECT_EQ(Json("3"), "f:1:1: expected an object: { ... }");
  EXPECT_EQ(Json("").find("f:1:1: "), 0u) << Json("");
  EXPECT_EQ(Json("{\"a\": 1").find("f:1:8: "), 0u) << Json("{\"a\": 1");
  EXPECT_EQ(Json("{\"a\": \"\\u0000\"}"), "f:1:7: a NUL byte cannot be part of a value");
}

TEST(Document, LimitsNestingDepth) {
  const std::string deep(1000, '[');
  const std::string closed(1000, ']');
  EXPECT_EQ(Json("{\"a\": " + deep + closed + "}"), "f:1:38: nested too deeply");
  EXPECT_EQ(Toml("a = " + deep + closed).find("f:1:"), 0u);
  const std::string fifty(50, '[');
  EXPECT_NE(Toml("a = " + fifty + std::string(50, ']')).find("nested too deeply"),
            std::string::npos);
}

TEST(ParseSettings, ParsesKeysCommentsAndSections) {
  const auto settings = ParseSettings(
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

TEST(ParseSettings, ReportsLineOfMalformedInput) {
  for (const char* text : {"seed", "= 7", "seed = ", "seed = seven", "seed = \"7", "seed = 7 8",
                           "a b = 1", "[fraud", "[fraud] x", "[]", "a..b = 1", ".a = 1", "a. = 1",
                           "x = \"a\\n\"", "x = [1, 2]", "x = \"\"\"a\nb\"\"\"", "\x01"}) {
    const auto settings = ParseSettings("\n" + std::string(text), "my.toml");
    ASSERT_FALSE(settings) << text;
    EXPECT_TRUE(settings.error().message.starts_with("my.toml:2:")) << settings.error().message;
  }
  EXPECT_TRUE(ParseSettings("", "my.toml"));
}

TEST(ParseSettings, RejectsDuplicateKeys) {
  const auto twice = ParseSettings("[a]\nx = 1\n[b]\nx = 2\n[a]\nx = 1\n", "my.toml");
  ASSERT_FALSE(twice);
  EXPECT_TRUE(twice.error().message.starts_with("my.toml:")) << twice.error().message;
}

TEST(ParseSettings, SkipsByteOrderMark) {
  const auto settings = ParseSettings("\xEF\xBB\xBFseed = 7\n", "my.toml");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->at(0).key, "seed");
}

TEST(ParseSettings, WritesSmallNumbersWithoutExponent) {
  const auto settings = ParseSettings("a = 0.00007\nb = 1e-9\nc = 1e3\n", "f");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->at(0).value, "0.00007");
  EXPECT_EQ(settings->at(1).value, "0.000000001");
  EXPECT_EQ(settings->at(2).value, "1000");
}

}  // namespace document_test
}  // namespace reveza
