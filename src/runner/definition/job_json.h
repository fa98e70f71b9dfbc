// A job as JSON and back, so that steps which were added to it are there when it is run again. For
// programs, not for people: what they write is in job_file.h. Thread-safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "runner/job.h"

namespace reveza::runner {

nlohmann::json ToJson(const Job& job);

// Paths, arguments and values are bytes, JSON is UTF-8: what is no UTF-8 becomes {"bytes": [...]}.
nlohmann::json TextToJson(const std::string& text);
// Back. Throws nlohmann::json::exception where it is neither a text nor such an object.
std::string TextFromJson(const nlohmann::json& json);

// kIncompatible: it is no job that ToJson has written.
Result<Job> JobFromJson(const nlohmann::json& json);

}  // namespace reveza::runner
