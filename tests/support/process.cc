#include "tests/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace reveza::testing {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string ProcessResult::Field(const std::string& key) const {
  const std::string quoted = "\"" + key + "\":";
  const std::size_t at = output.rfind(quoted);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + quoted.size();
  std::string value = output.substr(begin, output.find_first_of(",}", begin) - begin);
  if (value.starts_with('"') && value.size() >= 2) value = value.substr(1, value.size() - 2);
  return value;
}

Process::Process(const std::vector<std::string>& command, const Environment& environment,
                 const std::string& log)
    : log_(log) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    if (!environment.contains(name) && !name.starts_with("REVEZA_")) {
      variables.emplace_back(*entry);
    }
  }
  for (const auto& [key, value] : environment) variables.push_back(key + "=" + value);
  std::vector<std::string> words = command;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const int flags = O_CREAT | O_TRUNC | O_WRONLY;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, (log + ".out").c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, (log + ".err").c_str(), flags, 0600);
  // Shells start background jobs with these signals ignored, which children inherit.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGQUIT);
  posix_spawnattr_setsigdefault(&attributes, &interrupts);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int failed = posix_spawn(&pid_, command[0].c_str(), &files, &attributes,
                                 Pointers(words).data(), Pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " + command[0]);
}

Process::Process(Process&& other) noexcept
    : pid_(other.pid_),
      ended_(other.ended_),
      wait_status_(other.wait_status_),
      log_(std::move(other.log_)) {
  other.pid_ = -1;
}

Process::~Process() {
  if (pid_ < 0 || ended_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Process::Running() {
  if (!ended_ && waitpid(pid_, &wait_status_, WNOHANG) == pid_) ended_ = true;
  return !ended_;
}

void Process::Signal(int number) const {
  if (!ended_) kill(pid_, number);
}

std::optional<ProcessResult> Process::Wait(std::chrono::seconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (Running()) {
    if (std::chrono::steady_clock::now() > until) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const int status =
      WIFEXITED(wait_status_) ? WEXITSTATUS(wait_status_) : 128 + WTERMSIG(wait_status_);
  return ProcessResult{status, Output(), ErrorOutput()};
}

std::string Process::Output() const { return ReadFile(log_ + ".out"); }
std::string Process::ErrorOutput() const { return ReadFile(log_ + ".err"); }

}  // namespace reveza::testing
