#include "common/base/log.h"

#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <string>

namespace reveza {

void Log::Write(Level level, fmt::string_view text, fmt::format_args args) {
  const auto to = level == Level::kInfo      ? spdlog::level::info
                  : level == Level::kWarning ? spdlog::level::warn
                                             : spdlog::level::err;
  if (out_->should_log(to)) out_->log(to, fmt::vformat(text, args));
}

Result<Logger> MakeLogger(std::string_view level) {
  spdlog::level::level_enum value;
  if (level == "debug") {
    value = spdlog::level::debug;
  } else if (level == "info") {
    value = spdlog::level::info;
  } else if (level == "warning") {
    value = spdlog::level::warn;
  } else if (level == "error") {
    value = spdlog::level::err;
  } else if (level == "off") {
    value = spdlog::level::off;
  } else {
    return InvalidArgument("unknown log level '{}'; use debug, info, warning, error or off", level);
  }
  auto logger =
      std::make_shared<spdlog::logger>("reveza", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  logger->set_level(value);
  logger->flush_on(spdlog::level::debug);
  return std::make_shared<Log>(std::move(logger));
}

Logger MakeNullLogger() {
  return std::make_shared<Log>(
      std::make_shared<spdlog::logger>("silent", std::make_shared<spdlog::sinks::null_sink_mt>()));
}

}  // namespace reveza
