#include "common/platform/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/exec_arguments.h"
#include "common/base/unique_fd.h"

namespace reveza::platform {
namespace {

using std::chrono::steady_clock;

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

Result<Pipe> NewPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Fail(Error::Code::kUnavailable, "cannot make a pipe: {}", std::strerror(errno));
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<pid_t> Spawn(const std::vector<std::string>& words, int out, int errors) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, words[0].c_str(), &files, &attributes,
                                 ExecArguments(words).data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return Fail(error == ENOENT ? Error::Code::kNotFound : Error::Code::kUnavailable,
                "cannot start {}: {}", words[0], std::strerror(error));
  }
  return pid;
}

// Reads both until they are closed. Returns false if that takes longer than until `until`.
bool ReadBoth(std::array<UniqueFd, 2> files, std::array<std::string*, 2> texts,
              steady_clock::time_point until, std::size_t max_output) {
  std::vector<char> part(65'536);
  for (;;) {
    std::array<pollfd, 2> polled = {pollfd{files[0].get(), POLLIN, 0},
                                    pollfd{files[1].get(), POLLIN, 0}};
    if (polled[0].fd < 0 && polled[1].fd < 0) return true;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    if (left.count() <= 0) return false;
    if (poll(polled.data(), polled.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) {
      return false;
    }
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const ssize_t got = read(files[i].get(), part.data(), part.size());
      if (got <= 0) {
        files[i].Reset();
        continue;
      }
      texts[i]->append(part.data(), static_cast<std::size_t>(got));
      if (texts[i]->size() > 2 * max_output) texts[i]->erase(0, texts[i]->size() - max_output);
    }
  }
}

}  // namespace

Result<ProgramOutput> RunProgram(const std::vector<std::string>& words,
                                 std::chrono::milliseconds limit, std::size_t max_output) {
  ASSIGN_OR_RETURN(auto out, NewPipe());
  ASSIGN_OR_RETURN(auto errors, NewPipe());
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(words, out.writer.get(), errors.writer.get()));
  out.writer.Reset();
  errors.writer.Reset();
  ProgramOutput output;
  const bool ended =
      ReadBoth({std::move(out.reader), std::move(errors.reader)}, {&output.out, &output.errors},
               steady_clock::now() + limit, max_output);
  if (!ended) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) {
    return Fail(Error::Code::kUnavailable, "{} did not end within {} s", words[0],
                std::chrono::duration_cast<std::chrono::seconds>(limit).count());
  }
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  for (std::string* text : {&output.out, &output.errors}) {
    if (text->size() > max_output) text->erase(0, text->size() - max_output);
  }
  return output;
}

}  // namespace reveza::platform
