#include "command_line/command_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <stdexcept>
#include <system_error>

namespace reveza::command_line {
namespace {

TEST(DidYouMean, KnowsTheOptionsAndCommandsOfAPlace) {
  CLI::App app;
  bool flag = false;
  app.add_flag("-q,--quiet", flag);
  const CLI::App* inner = app.add_subcommand("status");
  EXPECT_EQ(DidYouMean("--quite", app), "; did you mean '--quiet'?");
  EXPECT_EQ(DidYouMean("--quite=yes", app), "; did you mean '--quiet'?");
  EXPECT_EQ(DidYouMean("staus", app), "; did you mean 'status'?");
  EXPECT_EQ(DidYouMean("elephant", app), "");
  EXPECT_EQ(DidYouMean("staus", *inner), "") << "it has no command of that name itself";
}

TEST(DidYouMean, LooksInSeveralPlaces) {
  CLI::App app;
  bool flag = false;
  app.add_subcommand("run")->add_flag("--cycles", flag);
  const CLI::App* places[] = {&app, app.get_subcommand("run")};
  EXPECT_EQ(DidYouMean("--cycle", places), "; did you mean '--cycles'?");
}

TEST(Guarded, PassesTheStatusOn) {
  EXPECT_EQ(Guarded([] { return 0; }, "take less"), 0);
  EXPECT_EQ(Guarded([] { return 130; }, "take less"), 130);
}

TEST(Guarded, SaysWhatALibraryThrew) {
  const auto memory = Guarded([]() -> int { throw std::bad_alloc(); }, "take less");
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, Error::Code::kExhausted);
  EXPECT_EQ(memory.error().message, "not enough memory; take less");

  const auto other = Guarded([]() -> int { throw std::runtime_error("no such day"); }, "");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Error::Code::kInternal);
  EXPECT_EQ(other.error().message, "no such day");

  const auto system = Guarded(
      []() -> int {
        throw std::system_error(std::make_error_code(std::errc::no_space_on_device), "rows");
      },
      "");
  ASSERT_FALSE(system);
  EXPECT_EQ(system.error().code, Error::Code::kInternal) << "nothing was printed";
}

// Standard output on a full disk until the end of the scope.
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

TEST(Guarded, SeesThatWhatWasPrintedArrives) {
  Result<int> done, failed, thrown;
  {
    const FullOutput full;
    done = Guarded([] { return std::puts("rows") < 0 ? 1 : 0; }, "");
  }
  {
    const FullOutput full;
    failed = Guarded(
        [] {
          std::puts("rows");
          return 3;
        },
        "");
  }
  {
    const FullOutput full;
    thrown = Guarded(
        []() -> int {
          std::puts("rows");
          std::fflush(stdout);
          throw std::system_error(std::make_error_code(std::errc::no_space_on_device), "fwrite");
        },
        "");
  }
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Error::Code::kExhausted);
  EXPECT_EQ(failed, 3) << "it has said why already";
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().code, Error::Code::kExhausted);
  EXPECT_NE(thrown.error().message.find("standard output"), std::string::npos);
}

}  // namespace
}  // namespace reveza::command_line
