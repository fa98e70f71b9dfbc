// What /bin/sh makes of the values that were quoted for it.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "runner/definition/template.h"

namespace reveza::runner {
namespace {

// What the shell prints for a line; "?" when it ends with an error.
std::string Output(const std::string& line) {
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return "?";
  std::string text;
  std::array<char, 256> piece;
  for (;;) {
    const std::size_t length = fread(piece.data(), 1, piece.size(), pipe);
    if (length == 0) break;
    text.append(piece.data(), length);
  }
  return pclose(pipe) == 0 ? text : "?";
}

constexpr std::array<std::string_view, 12> kValues = {
    "5",           "a b",  "",     "it's",      "\"",   "$HOME",
    "$(echo bad)", "`id`", "a\\b", "*; exit 1", "x\ny", "'\"'\"'"};

// Places for a value, and what stands around it in the output.
struct Case {
  std::string_view line, before, behind;
};
constexpr std::array<Case, 11> kCases = {{
    {"printf %s {v}", "", ""},
    {"printf %s a{v}b", "a", "b"},
    {"printf %s \"a {v} b\"", "a ", " b"},
    {"printf %s 'a {v} b'", "a ", " b"},
    {"printf %s \"$(printf %s {v}.)\"", "", "."},
    {"printf %s \"$(printf %s \"a {v}.\")\"", "a ", "."},
    {"printf %s \"$(printf %s 'a {v}.')\"", "a ", "."},
    {"(true; x={v}; printf %s \"$x\")", "", ""},
    {"case a in a) printf %s {v};; esac", "", ""},
    {"true # it's\nprintf %s {v}", "", ""},
    {"printf %s \\\"{v}\\'", "\"", "'"},
}};

TEST(ShellQuotes, TheShellTakesEveryValueAsItIs) {
  const std::array<std::string_view, 1> names = {"v"};
  for (const Case& place : kCases) {
    const auto parsed = Template::Parse(place.line, names, false, Template::Use::kShell);
    ASSERT_TRUE(parsed) << place.line << ": " << parsed.error().message;
    for (const std::string_view value : kValues) {
      Step step;
      step.parameters = {{"v", std::string(value)}};
      const auto line = parsed->Expand(step, {});
      ASSERT_TRUE(line);
      std::string expected(place.before);
      expected.append(value).append(place.behind);
      EXPECT_EQ(Output(*line), expected) << *line;
    }
  }
}

TEST(ShellQuotes, ACommandLineIsTheSameWordsAgain) {
  for (const std::string_view value : kValues) {
    const std::vector<std::string> words = {"printf", "%s.", "a", std::string(value)};
    EXPECT_EQ(Output(CommandLine(words)), "a." + std::string(value) + ".");
  }
}

}  // namespace
}  // namespace reveza::runner
