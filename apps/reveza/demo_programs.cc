#include "demo_programs.h"

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

namespace reveza::cli {
namespace {

// Takes all that can be read. false: the other end is closed.
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

DemoProgram::DemoProgram(std::string name, const std::vector<std::string>& command,
                         const std::map<std::string, std::string>& environment)
    : name_(std::move(name)), began_(std::chrono::steady_clock::now()) {
  int out[2] = {-1, -1};
  int err[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0) return;
  out_.Reset(out[0]);
  UniqueFd out_end(out[1]);
  if (pipe2(err, O_CLOEXEC) != 0) return;
  err_.Reset(err[0]);
  UniqueFd err_end(err[1]);
  fcntl(out_.get(), F_SETFL, O_NONBLOCK);
  fcntl(err_.get(), F_SETFL, O_NONBLOCK);
  pid_ = fork();
  if (pid_ != 0) return;
  dup2(out_end.get(), STDOUT_FILENO);
  dup2(err_end.get(), STDERR_FILENO);
  for (const char* inherited : {"REVEZA_JOB", "REVEZA_NAME", "REVEZA_RESIDENT", "REVEZA_DISABLE"}) {
    unsetenv(inherited);
  }
  for (const auto& [key, value] : environment) setenv(key.c_str(), value.c_str(), 1);
  std::vector<std::string> copies = command;
  std::vector<char*> arguments;
  for (std::string& argument : copies) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  fmt::print(stderr, "cannot run {}\n", command[0]);
  std::fflush(stderr);
  _exit(127);
}

DemoProgram::DemoProgram(DemoProgram&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      out_text_(std::move(other.out_text_)),
      err_text_(std::move(other.err_text_)),
      last_words_(std::move(other.last_words_)),
      hash_(std::move(other.hash_)),
      step_(other.step_),
      steps_(other.steps_),
      exit_code_(other.exit_code_),
      began_(other.began_),
      seconds_(other.seconds_) {}

DemoProgram::~DemoProgram() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void DemoProgram::Listen(std::vector<DemoProgram>& programs, std::chrono::milliseconds limit) {
  std::vector<pollfd> polled;
  for (const DemoProgram& program : programs) {
    if (program.out_) polled.push_back({program.out_.get(), POLLIN, 0});
    if (program.err_) polled.push_back({program.err_.get(), POLLIN, 0});
  }
  poll(polled.data(), polled.size(), static_cast<int>(limit.count()));
  for (DemoProgram& program : programs) program.Read();
}

void DemoProgram::Read() {
  if (err_ && !ReadAll(err_.get(), err_text_)) err_.Reset();
  if (out_ && !ReadAll(out_.get(), out_text_)) out_.Reset();
  for (std::size_t end = err_text_.find('\n'); end != std::string::npos;
       end = err_text_.find('\n')) {
    OnLine(err_text_.substr(0, end));
    err_text_.erase(0, end + 1);
  }
  if (running() && !out_ && !err_) Reap();
}

void DemoProgram::OnLine(const std::string& line) {
  unsigned long long step = 0;
  unsigned long long steps = 0;
  if (std::sscanf(line.c_str(), "step %llu/%llu", &step, &steps) == 2) {
    step_ = step;
    steps_ = steps;
  } else {
    last_words_ = line;
  }
}

void DemoProgram::Reap() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  const auto result = nlohmann::json::parse(out_text_, nullptr, false);
  if (result.is_object()) hash_ = result.value("hash", "");
}

}  // namespace reveza::cli
