// Supervisors of a previous runner, which are nobody's children and have no connection. Linux only.
#pragma once

#include <filesystem>

namespace reveza::jobs {

// Asks the supervisor that writes this record to end its step: SIGTERM, and SIGKILL after the grace
// period. Returns false if it is not found: dead, or of another PID namespace.
bool EndOrphan(const std::filesystem::path& record);

}  // namespace reveza::jobs
