#include "runner/definition/document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

// "key@1:2=" and so on: all that a document is.
std::string Show(const Node& node) {
  std::string text = fmt::format("@{}:{}", node.place.line, node.place.column);
  if (node.kind == Node::Kind::kList) {
    for (const Node& item : node.items) text += (&item == &node.items[0] ? "[" : ",") + Show(item);
    return text + "]";
  }
  if (node.kind == Node::Kind::kTable) {
    for (const Member& member : node.members) {
      text += fmt::format("{}{}@{}:{}={}", &member == &node.members[0] ? "{" : ",", member.key,
                          member.place.line, member.place.column, Show(member.value));
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

TEST(ParseToml, KeepsPlacesAndOrder) {
  EXPECT_EQ(Toml("b = 1\na = [0.5, true]\n\n[t]\n  s = 'x'"),
            "@1:1{b@1:1=w1@1:5,a@2:1=@2:5[n0.5@2:6,btrue@2:11],t@4:2=@4:1{s@5:3=tx@5:7}}");
  EXPECT_EQ(Toml("a = 2026-11-22"), "@1:1{a@1:1=o@1:5}");
}

TEST(ParseToml, SaysWhereItIsWrong) {
  EXPECT_EQ(Toml("a = \n").find("f:1:5: "), 0u) << Toml("a = \n");
  EXPECT_EQ(Toml("a = 1\na = 2\n").find("f:2:"), 0u) << Toml("a = 1\na = 2\n");
  EXPECT_EQ(Toml("a = 1\n[\n[\n"), "f:2:1: this is no TOML; write: key = value, or [[steps]]");
  EXPECT_EQ(Toml("a = \"\\u0000\""), "f:1:5: a zero byte cannot be part of a command");
}

TEST(ParseToml, KeepsOtherLettersToQuotes) {
  EXPECT_EQ(Toml("# é\n\"é\" = 'ü' # ä\nb = \"\"\"\né\"\"\"\"\" # ö"),
            "@1:1{é@2:1=tü@2:7,b@3:1=té\"\"@3:5}");
  EXPECT_EQ(Toml("a = \"x\"\nrum ä"),
            "f:2:5: this cannot stand here; write texts in quotes, as a whole");
}

TEST(ParseJson, KeepsPlacesAndOrder) {
  EXPECT_EQ(Json("{\"b\": 1,\n \"a\": [0.50, true, -3, 1e3],\"t\":{\n\"s\":\"x\\\"\\\\\"}, "
                 "\"é\":null }"),
            "@1:1{b@1:2=w1@1:7,a@2:2=@2:7[n0.50@2:8,btrue@2:14,w-3@2:20,n1e3@2:24],t@2:29=@2:33{"
            "s@3:1=tx\"\\@3:5},é@3:15=onull@3:19}");
}

TEST(ParseJson, SaysWhereItIsWrong) {
  EXPECT_EQ(Json("{\n \"a\": x}").find("f:2:7: "), 0u) << Json("{\n \"a\": x}");
  EXPECT_EQ(Json("{\"a\": 1,\n \"a\": 2}"), "f:2:2: 'a' is there already, in line 1");
  EXPECT_EQ(Json("[1]"), "f:1:1: a job is written { \"run\": ... }");
  EXPECT_EQ(Json("3"), "f:1:1: a job is written { \"run\": ... }");
  EXPECT_EQ(Json("").find("f:1:1: "), 0u) << Json("");
  EXPECT_EQ(Json("{\"a\": 1").find("f:1:8: "), 0u) << Json("{\"a\": 1");
  EXPECT_EQ(Json("{\"a\": \"\\u0000\"}"), "f:1:7: a zero byte cannot be part of a command");
}

TEST(Documents, AreNotDeeperThanAnybodyWrites) {
  const std::string deep(1000, '[');
  const std::string closed(1000, ']');
  EXPECT_EQ(Json("{\"a\": " + deep + closed + "}"), "f:1:38: too many tables within tables");
  EXPECT_EQ(Toml("a = " + deep + closed).find("f:1:"), 0u);
  const std::string fifty(50, '[');
  EXPECT_NE(Toml("a = " + fifty + std::string(50, ']')).find("too many tables"), std::string::npos);
}

}  // namespace
}  // namespace reveza::runner
