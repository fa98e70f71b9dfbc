// For tests: runs a program in a pseudo-terminal and interprets its output.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/unique_fd.h"

namespace reveza::platform {

// A program in a pseudo-terminal of 80 x 24 or another size. Output is read only by the Wait calls,
// which wait for output, not for a time.
class TestingTerminal {
 public:
  explicit TestingTerminal(const std::string& command, unsigned short columns = 80,
                           unsigned short rows = 24) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    int master = -1;
    pid_ = forkpty(&master, nullptr, nullptr, &size);
    if (pid_ == 0) {
      execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
      _exit(127);
    }
    fd_.Reset(master);
  }
  ~TestingTerminal() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  TestingTerminal(const TestingTerminal&) = delete;
  TestingTerminal& operator=(const TestingTerminal&) = delete;

  void Type(std::string_view keys) {
    EXPECT_EQ(write(fd_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void Resize(unsigned short columns, unsigned short rows) {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = rows;
    EXPECT_EQ(ioctl(fd_.get(), TIOCSWINSZ, &size), 0);
  }
  void Signal(int signal) const { EXPECT_EQ(kill(pid_, signal), 0); }

  // Reads until the condition holds. Returns false if the program exits first, or is silent for a
  // minute.
  bool WaitUntil(const std::function<bool()>& condition) {
    while (!condition()) {
      if (!ReadSome()) return condition();
    }
    return true;
  }
  // Reads until `text` has been written.
  bool WaitFor(std::string_view text) {
    return WaitUntil([&] { return written_.find(text) != std::string::npos; });
  }
  int WaitForEnd() {
    while (ReadSome()) {
    }
    int status = 0;
    waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // All output so far.
  const std::string& written() const { return written_; }

 private:
  bool ReadSome() {
    pollfd readable{fd_.get(), POLLIN, 0};
    if (poll(&readable, 1, 60'000) <= 0) return false;
    char part[4096];
    const ssize_t got = read(fd_.get(), part, sizeof part);
    if (got <= 0) return false;
    written_.append(part, static_cast<std::size_t>(got));
    return true;
  }

  pid_t pid_ = 0;
  UniqueFd fd_;
  std::string written_;
};

// Renders terminal output on an endless page. Interprets the escape sequences that the live
// displays use and collects unknown ones. Each UTF-8 character takes one column.
class TestingPage {
 public:
  explicit TestingPage(std::string_view written) {
    for (std::size_t i = 0; i < written.size();) i += Take(written.substr(i));
  }

  // Returns the lines that are not empty.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const auto& cells : page_) {
      std::string line;
      for (const std::string& cell : cells) line += cell;
      line.erase(line.find_last_not_of(' ') + 1);
      if (!line.empty()) lines.push_back(line);
    }
    return lines;
  }
  std::size_t CountOf(std::string_view text) const {
    const auto lines = Lines();
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
  // Returns escape sequences that are not supported.
  const std::string& unknown() const { return unknown_; }

 private:
  using Cells = std::vector<std::string>;

  std::size_t Take(std::string_view rest) {
    const auto first = static_cast<unsigned char>(rest[0]);
    if (first == '\r') return column_ = 0, 1;
    if (first == '\n') return ++row_, 1;
    if (first == 0x1b) return Sequence(rest);
    std::size_t length = 1;
    while (length < rest.size() && (static_cast<unsigned char>(rest[length]) & 0xc0) == 0x80) {
      ++length;
    }
    if (page_.size() <= row_) page_.resize(row_ + 1);
    Cells& line = page_[row_];
    if (line.size() <= column_) line.resize(column_ + 1, " ");
    line[column_++] = rest.substr(0, length);
    return length;
  }

  std::size_t Sequence(std::string_view rest) {
    const auto end = rest.find_first_not_of("0123456789;", 2);
    if (rest.size() < 3 || rest[1] != '[' || end == std::string_view::npos) {
      unknown_ += rest.size() < 3 || end == std::string_view::npos ? "" : "?";
      return rest.size() < 3 || end == std::string_view::npos ? rest.size() : 1;
    }
    const std::size_t number = std::strtoul(std::string(rest.substr(2)).c_str(), nullptr, 10);
    if (page_.size() <= row_) page_.resize(row_ + 1);
    if (rest[end] == 'F') {  // up, to column 0
      row_ -= std::min(row_, std::max<std::size_t>(number, 1));
      column_ = 0;
    } else if (rest[end] == 'K' || rest[end] == 'J') {  // clear to the end of the line or page
      page_[row_].resize(std::min(page_[row_].size(), column_));
      if (rest[end] == 'J') page_.resize(row_ + 1);
    } else if (rest[end] != 'm') {  // colours
      unknown_ += rest.substr(0, end + 1);
    }
    return end + 1;
  }

  std::vector<Cells> page_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::string unknown_;
};

// Returns the width of a line in columns, without colours.
inline std::size_t ColumnsOf(std::string_view line) {
  const auto lines = TestingPage(line).Lines();
  if (lines.empty()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(
      lines.front(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace reveza::platform
