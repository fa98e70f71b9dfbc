#include "common/cli/command_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace reveza::command_line {
namespace command_line_test {

TEST(DidYouMean, SuggestsOptionsAndCommands) {
  CLI::App app;
  bool flag = false;
  app.add_flag("-q,--quiet", flag);
  const CLI::App* inner = app.add_subcommand("status");
  EXPECT_EQ(DidYouMean("--quite", app), "; did you mean '--quiet'?");
  EXPECT_EQ(DidYouMean("--quite=yes", app), "; did you mean '--quiet'?");
  EXPECT_EQ(DidYouMean("staus", app), "; did you mean 'status'?");
  EXPECT_EQ(DidYouMean("elephant", app), "");
  EXPECT_EQ(DidYouMean("staus", *inner), "") << "only the commands of the place itself";
}

TEST(DidYouMean, SearchesSeveralPlaces) {
  CLI::App app;
  bool flag = false;
  app.add_subcommand("run")->add_flag("--cycles", flag);
  const CLI::App* places[] = {&app, app.get_subcommand("run")};
  EXPECT_EQ(DidYouMean("--cycle", places), "; did you mean '--cycles'?");
}

TEST(Parse, HelpShowsPlainTypeNames) {
  CLI::App app("", "tool");
  int width = 0;
  std::string file;
  app.add_option("--width", width, "columns")->type_name("N")->check(CLI::Range(40, 1000));
  app.add_subcommand("read", "")->add_option("FILE", file, "what to read");
  const auto help = [&](std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    testing::internal::CaptureStdout();
    EXPECT_EQ(Parse({.name = "tool", .memory_hint = ""}, app, static_cast<int>(words.size()),
                    arguments.data()),
              kDone);
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_NE(help({"tool", "--help"}).find("--width N  "), std::string::npos);
  EXPECT_NE(help({"tool", "read", "--help"}).find("FILE  "), std::string::npos);
}

TEST(Run, ReservesClosedStandardDescriptors) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(fd);
    _exit(command_line::Run({.name = "tool", .memory_hint = ""},
                            [] { return open("/dev/null", O_RDONLY) > STDERR_FILENO ? 130 : 1; }));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 130);
}

TEST(RunGuarded, ReturnsTheCommandsStatus) {
  EXPECT_EQ(RunGuarded([] { return 0; }, "take less"), 0);
  EXPECT_EQ(RunGuarded([] { return 130; }, "take less"), 130);
}

TEST(RunGuarded, ConvertsExceptionsToErrors) {
  const auto memory = RunGuarded([]() -> int { throw std::bad_alloc(); }, "take less");
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, Error::Code::kExhausted);
  EXPECT_EQ(memory.error().message, "not enough memory; take less");

  const auto other = RunGuarded([]() -> int { throw std::runtime_error("no such day"); }, "");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Error::Code::kInternal);
  EXPECT_EQ(other.error().message, "no such day");

  const auto system = RunGuarded(
      []() -> int {
        throw std::system_error(std::make_error_code(std::errc::no_space_on_device), "rows");
      },
      "");
  ASSERT_FALSE(system);
  EXPECT_EQ(system.error().code, Error::Code::kInternal) << "nothing was printed";
}

// Redirects standard output to a full device until the end of the scope.
class FullOutput {
 public:
  FullOutput() : before_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    dup2(full, STDOUT_FILENO);
    close(full);
  }
  FullOutput(const FullOutput&) = delete;
  FullOutput& operator=(const FullOutput&) = delete;
  ~FullOutput() {
    dup2(before_, STDOUT_FILENO);
    close(before_);
    std::clearerr(stdout);
  }

 private:
  int before_;
};

TEST(DescribeParseError, NamesTheUnknownWordAndItsCommand) {
  CLI::App app("", "tool");
  bool flag = false;
  app.add_subcommand("run")->add_flag("--cycles", flag);
  app.require_subcommand(1);
  const auto describe = [&](std::vector<std::string> words) -> std::string {
    std::ranges::reverse(words);
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      return DescribeParseError(app, error);
    }
    return "";
  };
  EXPECT_EQ(describe({"run"}), "");
  EXPECT_EQ(describe({"rum"}), "unknown command 'rum'; did you mean 'run'?; see tool --help");
  EXPECT_EQ(describe({"run", "--cycle"}),
            "unknown option '--cycle'; did you mean '--cycles'?; see tool run --help");
  EXPECT_TRUE(describe({}).ends_with("; see tool --help"));
}

TEST(Run, ReportsTheErrorAndReturnsItsStatus) {
  const Program program{.name = "tool", .memory_hint = "use less"};
  EXPECT_EQ(command_line::Run(program, [] { return 3; }), 3);
  testing::internal::CaptureStderr();
  EXPECT_EQ(command_line::Run(program, []() -> int { throw std::bad_alloc(); }), kNoRoom);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tool: not enough memory; use less\n");
}

TEST(RunGuarded, FailsWhenStandardOutputCannotBeWritten) {
  Result<int> done, failed, thrown;
  {
    const FullOutput full;
    done = RunGuarded([] { return std::puts("rows") < 0 ? 1 : 0; }, "");
  }
  {
    const FullOutput full;
    failed = RunGuarded(
        [] {
          std::puts("rows");
          return 3;
        },
        "");
  }
  {
    const FullOutput full;
    thrown = RunGuarded(
        []() -> int {
          std::puts("rows");
          std::fflush(stdout);
          throw std::system_error(std::make_error_code(std::errc::no_space_on_device), "fwrite");
        },
        "");
  }
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Error::Code::kExhausted);
  EXPECT_EQ(failed, 3) << "the command has reported its error";
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, Error::Code::kExhausted);
  EXPECT_NE(thrown.error().message.find("standard output"), std::string::npos);
}

}  // namespace command_line_test
}  // namespace reveza::command_line
