// Serialises jobs to JSON, for steps added to a job that later runs must see. An internal format;
// job files written by users are read by job_file.h. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"

namespace reveza::jobs {

// Encodes an optional value; null if it is absent.
template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json ToJson(const Job& job);

// Encodes a byte string: as a JSON string when it is valid UTF-8, otherwise as {"bytes": [...]}.
nlohmann::json TextToJson(const std::string& text);
// Decodes it. Throws nlohmann::json::exception when `json` is neither of these.
std::string TextFromJson(const nlohmann::json& json);

// kIncompatible: not a job written by ToJson.
Result<Job> JobFromJson(const nlohmann::json& json);

}  // namespace reveza::jobs
