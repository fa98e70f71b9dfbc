// The daemon's log: one line per event, with time and level, on standard error. Programs under
// Reveza do not log; see reveza/gpu/interpose/.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>

#include "common/base/error.h"

namespace spdlog {
class logger;
}

namespace reveza {

// Thread-safe.
class Log {
 public:
  explicit Log(std::shared_ptr<spdlog::logger> out) : out_(std::move(out)) {}

  template <typename... Args>
  void info(fmt::format_string<Args...> text, Args&&... args) {
    Write(Level::kInfo, text, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) {
    Write(Level::kWarning, text, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> text, Args&&... args) {
    Write(Level::kError, text, fmt::make_format_args(args...));
  }

 private:
  enum class Level { kInfo, kWarning, kError };
  void Write(Level level, fmt::string_view text, fmt::format_args args);

  std::shared_ptr<spdlog::logger> out_;
};

using Logger = std::shared_ptr<Log>;

// kInvalidArgument unless `level` is "debug", "info", "warning", "error" or "off".
Result<Logger> MakeLogger(std::string_view level);
// Returns a logger that discards everything.
Logger MakeNullLogger();

}  // namespace reveza
