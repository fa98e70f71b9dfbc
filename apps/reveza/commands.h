// The short commands: status, trace, stop, config, version.
#pragma once

#include <string>

#include "daemon/settings.h"

namespace reveza::cli {

int ShowStatus(const daemon::Settings& settings, bool as_json, bool watch);
int WriteTrace(const daemon::Settings& settings, const std::string& file);
int StopDaemon(const daemon::Settings& settings, bool force);
int ShowConfiguration(const daemon::Configuration& configuration);
int ShowConfigurationPath();
int ShowVersion();

}  // namespace reveza::cli
