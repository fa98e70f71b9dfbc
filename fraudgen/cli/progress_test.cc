// The progress line of `fraudgen` in a terminal.
#include <csignal>
#include <string>
#include <string_view>

#include "common/platform/testing_terminal.h"
#include "fraudgen/cli/testing_fraudgen.h"

namespace reveza::fraudgen::cli {
namespace progress_test {

using platform::TestingPage;
using platform::TestingTerminal;

constexpr std::string_view kClear = "\r\x1b[K";

class ProgressTest : public FraudgenTest {
 protected:
  // Never finishes; writes to /dev/null.
  static std::string Endless() {
    return std::string(FraudgenPath()) +
           " --rows 900000000 --model classic --format csv --threads 2 --output - > /dev/null";
  }
  static std::size_t Draws(const TestingTerminal& terminal) {
    std::size_t count = 0;
    for (auto at = terminal.written().find(kClear); at != std::string::npos;
         at = terminal.written().find(kClear, at + 1)) {
      ++count;
    }
    return count;
  }
  static void AwaitDraws(TestingTerminal& terminal, std::size_t more) {
    const std::size_t wanted = Draws(terminal) + more + 1;
    ASSERT_TRUE(terminal.WaitUntil([&] { return Draws(terminal) >= wanted; }))
        << terminal.written();
  }
  // The last complete draw.
  static std::string LastWhole(const TestingTerminal& terminal) {
    const auto end = terminal.written().rfind(kClear);
    const auto begin = terminal.written().rfind(kClear, end - 1) + kClear.size();
    return terminal.written().substr(begin, end - begin);
  }
};

TEST_F(ProgressTest, UpdatesAndClearsOneLine) {
  TestingTerminal terminal(Endless());
  AwaitDraws(terminal, 4);
  EXPECT_EQ(terminal.written().find('\n'), std::string::npos) << "all on one line";
  const TestingPage page(terminal.written());
  EXPECT_EQ(page.unknown(), "");
  ASSERT_LE(page.Lines().size(), 1u);
  EXPECT_NE(LastWhole(terminal).find(" rows/s"), std::string::npos) << LastWhole(terminal);
  terminal.Signal(SIGINT);
  EXPECT_EQ(terminal.WaitForEnd(), kInterrupted);
  EXPECT_EQ(TestingPage(terminal.written()).Lines(), std::vector<std::string>{"fraudgen: stopped"})
      << terminal.written();
}

TEST_F(ProgressTest, FitsResizedTerminal) {
  TestingTerminal terminal(Endless(), 120, 24);
  AwaitDraws(terminal, 1);
  EXPECT_LT(platform::ColumnsOf(LastWhole(terminal)), 120u);
  for (const unsigned short columns : {50, 20, 100}) {
    terminal.Resize(columns, 24);
    // The first draw may have started before the resize.
    AwaitDraws(terminal, 2);
    EXPECT_LT(platform::ColumnsOf(LastWhole(terminal)), columns);
    EXPECT_EQ(terminal.written().find('\n'), std::string::npos);
  }
  EXPECT_TRUE(LastWhole(terminal).starts_with("[")) << "there is room for a bar again";
  terminal.Signal(SIGTERM);
  EXPECT_EQ(terminal.WaitForEnd(), kTerminated);
}

TEST_F(ProgressTest, UsesNoControlCodesElsewhere) {
  const Ran ran = Fraudgen("--rows 2000 --model classic --format csv --output data");
  EXPECT_EQ(ran.status, kDone);
  EXPECT_EQ(ran.output.find('\x1b'), std::string::npos) << ran.output;
  EXPECT_EQ(ran.output.find('\r'), std::string::npos) << ran.output;
  EXPECT_TRUE(ran.output.ends_with("\n"));
}

}  // namespace progress_test
}  // namespace reveza::fraudgen::cli
