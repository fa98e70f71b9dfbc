// Runs /bin/sh on quoted values.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "reveza/jobs/definition/template.h"

namespace reveza::jobs {
namespace shell_quotes_run_test {

// Returns what the shell prints for a command line; "?" on failure.
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

// Positions of a value, and the text around it in the output.
struct Case {
  std::string_view line, before, after;
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

TEST(ShellQuoteTracker, ShellSeesEveryValueUnchanged) {
  const std::array<std::string_view, 1> names = {"v"};
  for (const Case& test : kCases) {
    const auto parsed = Template::Parse(test.line, names, false, Template::Use::kShell);
    ASSERT_TRUE(parsed) << test.line << ": " << parsed.error().message;
    for (const std::string_view value : kValues) {
      Step step;
      step.parameters = {{"v", std::string(value)}};
      const auto line = parsed->Expand(step, {});
      ASSERT_TRUE(line);
      std::string expected(test.before);
      expected.append(value).append(test.after);
      EXPECT_EQ(Output(*line), expected) << *line;
    }
  }
}

TEST(ShellQuoteTracker, ShellJoinRoundTrips) {
  for (const std::string_view value : kValues) {
    const std::vector<std::string> words = {"printf", "%s.", "a", std::string(value)};
    EXPECT_EQ(Output(ShellJoin(words)), "a." + std::string(value) + ".");
  }
}

}  // namespace shell_quotes_run_test
}  // namespace reveza::jobs
