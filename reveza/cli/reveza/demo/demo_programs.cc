#include "reveza/cli/reveza/demo/demo_programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/exec_arguments.h"

namespace reveza::cli {
namespace {

// Appends all that can be read without blocking. Returns false at end-of-file.
bool ReadAll(int fd, std::string& text) {
  char part[4096];
  for (;;) {
    const ssize_t got = read(fd, part, sizeof(part));
    if (got > 0) {
      text.append(part, static_cast<std::size_t>(got));
      continue;
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

}  // namespace

DemoProgram::DemoProgram(std::string its_name, const std::vector<std::string>& command,
                         const std::map<std::string, std::string>& environment)
    : name(std::move(its_name)), began_(std::chrono::steady_clock::now()) {
  auto out = MakePipe();
  auto err = MakePipe();
  if (!out || !err) return;
  out_ = std::move(out->reader);
  err_ = std::move(err->reader);
  fcntl(out_.get(), F_SETFL, O_NONBLOCK);
  fcntl(err_.get(), F_SETFL, O_NONBLOCK);
  pid_ = fork();
  if (pid_ != 0) return;
  dup2(out->writer.get(), STDOUT_FILENO);
  dup2(err->writer.get(), STDERR_FILENO);
  for (const char* inherited : {"REVEZA_JOB", "REVEZA_NAME", "REVEZA_RESIDENT", "REVEZA_DISABLE"}) {
    unsetenv(inherited);
  }
  for (const auto& [key, value] : environment) setenv(key.c_str(), value.c_str(), 1);
  execv(command[0].c_str(), ExecArguments(command).data());
  fmt::print(stderr, "cannot execute {}\n", command[0]);
  std::fflush(stderr);
  _exit(127);
}

DemoProgram::~DemoProgram() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void DemoProgram::Poll(std::deque<DemoProgram>& programs, std::chrono::milliseconds timeout) {
  std::vector<pollfd> polled;
  for (const DemoProgram& program : programs) {
    if (program.out_) polled.push_back({program.out_.get(), POLLIN, 0});
    if (program.err_) polled.push_back({program.err_.get(), POLLIN, 0});
  }
  poll(polled.data(), polled.size(), static_cast<int>(timeout.count()));
  for (DemoProgram& program : programs) program.Read();
}

void DemoProgram::Read() {
  if (err_ && !ReadAll(err_.get(), err_text_)) err_.Reset();
  if (out_ && !ReadAll(out_.get(), out_text_)) out_.Reset();
  for (std::size_t end = err_text_.find('\n'); end != std::string::npos;
       end = err_text_.find('\n')) {
    HandleLine(err_text_.substr(0, end));
    err_text_.erase(0, end + 1);
  }
  if (running() && !out_ && !err_) Reap();
}

void DemoProgram::HandleLine(const std::string& line) {
  unsigned long long done = 0;
  unsigned long long all = 0;
  if (std::sscanf(line.c_str(), "step %llu/%llu", &done, &all) == 2) {
    step = done;
    steps = all;
  } else {
    last_error = line;
  }
}

void DemoProgram::Reap() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  const auto result = nlohmann::json::parse(out_text_, nullptr, false);
  if (result.is_object()) hash = result.value("hash", "");
}

}  // namespace reveza::cli
