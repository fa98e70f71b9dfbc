// The live display of `reveza jobs run` in a terminal, and the lines that stand for it elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/platform/testing_terminal.h"
#include "reveza/cli/reveza/jobs/testing_jobs.h"

namespace reveza::cli {
namespace jobs_terminal_test {

using platform::TestingPage;
using platform::TestingTerminal;

constexpr std::string_view kRedraw = "\x1b[J";

// Each of three steps waits until the test lets it go on; then it makes some noise.
class JobsTerminal : public JobsTest {
 protected:
  std::string Command(const std::string& step = "echo noise; echo noise >&2",
                      const std::string& errors = "") const {
    return fmt::format(
        "sh -c \"cd {} && exec {} jobs run --name bars --workers 1 -- sh -c 'until [ -e go{{n}} ]; "
        "do sleep 0.02; done; {}' ::: n 1..3 > said{}\"",
        folder_.path().string(), REVEZA_PROGRAM, step, errors);
  }
  void LetGo(int step) { folder_.Write("go" + std::to_string(step), ""); }

  static bool Shows(const TestingTerminal& terminal, std::string_view text) {
    return TestingPage(terminal.written()).CountOf(text) > 0;
  }
  static std::size_t Redraws(const TestingTerminal& terminal) {
    std::size_t count = 0;
    for (auto at = terminal.written().find(kRedraw); at != std::string::npos;
         at = terminal.written().find(kRedraw, at + 1)) {
      ++count;
    }
    return count;
  }
  // Waits for so many more that are whole.
  static void AwaitRedraws(TestingTerminal& terminal, std::size_t more) {
    const std::size_t wanted = Redraws(terminal) + more + 1;
    ASSERT_TRUE(terminal.WaitUntil([&] { return Redraws(terminal) >= wanted; }));
  }
  // The lines between the last two redraws.
  static std::vector<std::string> LastWhole(const TestingTerminal& terminal) {
    const std::string& written = terminal.written();
    auto end = written.rfind(kRedraw);
    end = written.rfind("\x1b[", end - 1);  // the way up
    const auto begin = written.rfind(kRedraw, end);
    std::vector<std::string> lines;
    std::string_view rest = std::string_view(written).substr(begin + kRedraw.size());
    rest = rest.substr(0, end - begin - kRedraw.size());
    while (!rest.empty()) {
      const auto line_end = std::min(rest.find('\n'), rest.size() - 1);
      lines.emplace_back(rest.substr(0, line_end + 1));
      rest.remove_prefix(line_end + 1);
    }
    return lines;
  }
  // Nothing but the bar, its lines, and what the runner says above.
  static void ExpectOneBar(const TestingTerminal& terminal) {
    const TestingPage page(terminal.written());
    EXPECT_EQ(page.unknown(), "");
    EXPECT_LE(page.CountOf(" of 3, "), 1u) << terminal.written();
    bool below = false;
    for (const auto& line : page.Lines()) {
      const bool bar = line.starts_with("bars ") && line.find(" of 3, ") != std::string::npos;
      const bool more = line.starts_with("  ");
      const bool said = line.starts_with("reveza: ") || line.starts_with("step ");
      EXPECT_TRUE(bar || more || said) << line;
      EXPECT_FALSE(said && below) << "below the bar: " << line;
      below = below || bar;
    }
    EXPECT_EQ(terminal.written().find("noise"), std::string::npos);
  }
};

TEST_F(JobsTerminal, RedrawsTheBarInPlace) {
  TestingTerminal terminal(Command());
  for (int done = 0; done <= 2; ++done) {
    const std::string count = fmt::format(" {} of 3, ", done);
    ASSERT_TRUE(terminal.WaitUntil([&] { return Shows(terminal, count); })) << terminal.written();
    AwaitRedraws(terminal, 1);
    ExpectOneBar(terminal);
    LetGo(done + 1);
  }
  EXPECT_EQ(terminal.WaitForEnd(), 0) << terminal.written();
  const TestingPage page(terminal.written());
  EXPECT_EQ(page.CountOf(" 3 of 3, 100 %"), 1u) << "it stays at the end";
  EXPECT_EQ(page.CountOf(" of 3, "), 1u) << terminal.written();
  EXPECT_GE(Redraws(terminal), 4u);
}

TEST_F(JobsTerminal, PrintsMessagesAboveTheBar) {
  TestingTerminal terminal(Command("exit 7"));
  LetGo(1);
  ASSERT_TRUE(terminal.WaitFor("step n=1 failed with status 7")) << terminal.written();
  AwaitRedraws(terminal, 1);
  ExpectOneBar(terminal);
  LetGo(2);
  LetGo(3);
  EXPECT_NE(terminal.WaitForEnd(), 0);
  const TestingPage page(terminal.written());
  EXPECT_EQ(page.CountOf("failed with status 7"), 3u) << "each is still there";
  EXPECT_EQ(page.CountOf(" of 3, "), 1u);
}

TEST_F(JobsTerminal, AdaptsToTheTerminalSize) {
  TestingTerminal terminal(Command(), 100, 24);
  ASSERT_TRUE(terminal.WaitUntil([&] { return Shows(terminal, " 0 of 3, "); }));
  for (const unsigned short columns : {40, 24, 120, 30}) {
    terminal.Resize(columns, 24);
    // The first may have been on its way.
    AwaitRedraws(terminal, 2);
    const auto lines = LastWhole(terminal);
    ASSERT_FALSE(lines.empty()) << columns;
    EXPECT_EQ(platform::ColumnsOf(lines.front()), columns) << "the bar fills the line";
    for (const auto& line : lines) EXPECT_LE(platform::ColumnsOf(line), columns) << line;
  }
  for (const unsigned short rows : {2, 1}) {
    terminal.Resize(80, rows);
    // Without room for a line and the cursor there is no bar, and nothing to take back.
    if (rows == 1) break;
    AwaitRedraws(terminal, 2);
    EXPECT_EQ(LastWhole(terminal).size(), 1u) << "what scrolls away cannot be taken back";
  }
  for (int step = 1; step <= 3; ++step) LetGo(step);
  EXPECT_EQ(terminal.WaitForEnd(), 0) << "with no room at all it runs on";
}

TEST_F(JobsTerminal, PrintsPlainLinesWithoutATerminal) {
  for (int step = 1; step <= 3; ++step) LetGo(step);
  const auto ran = platform::Shell(Command("echo noise; echo noise >&2", " 2> errors"));
  EXPECT_EQ(ran.status, 0) << ran.output;
  const std::string errors = Text("errors");
  EXPECT_EQ(errors.find('\x1b'), std::string::npos) << errors;
  EXPECT_EQ(errors.find('\r'), std::string::npos) << errors;
  EXPECT_TRUE(errors.ends_with("\n"));
  EXPECT_NE(errors.find("bars: 3 of 3 done"), std::string::npos) << errors;
  EXPECT_EQ(errors.find("noise"), std::string::npos);
}

}  // namespace jobs_terminal_test
}  // namespace reveza::cli
