// The objects of Kubernetes by which an array runs: what is written to the API server, and read
// from it, as JSON. Pure functions.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "reveza/jobs/cluster/cluster_engine.h"
#include "reveza/jobs/definition/run_request.h"

namespace reveza::jobs {

// The label of an array's Job and pods, whose value is the name of the Job.
inline constexpr const char* kArrayLabel = "reveza.io/array";

// What all pods of a run have in common.
struct PodSettings {
  PodOptions options;
  std::filesystem::path shared;  // that pods must have on a volume
  uid_t user = 0;                // that pods run as, unless the template says otherwise
  gid_t group = 0;
};

// Returns the pod template of Jobs, made of a manifest of kind Pod, or of none (empty).
// kInvalidArgument says which option is missing or wrong.
Result<std::string> MakePodTemplate(std::string_view manifest, const PodSettings& settings);

// Returns the name of an array's Job: a label of DNS, with what makes it unique.
std::string JobNameOf(std::string_view array, std::string_view token);

// Returns the manifest of an array's Job, whose pods run `script`.
std::string JobManifest(std::string_view pod_template, const ArrayRequest& array,
                        const std::string& job, const std::filesystem::path& script);

// Returns the name of the Job in a manifest; "" if it has none.
std::string JobOfManifest(std::string_view manifest);

// What the API server says of arrays.
struct JobList {
  std::vector<TaskReport> reports;
  // Of tasks that wait and do not say why: the object whose Events may, and their reports.
  std::multimap<std::string, std::size_t, std::less<>> unexplained;
};

// Reads Jobs and pods; `arrays`: names of arrays by those of their Jobs. kInvalidArgument: no list.
Result<JobList> ParseJobList(std::string_view text,
                             const std::map<std::string, std::string, std::less<>>& arrays);

// Adds what Events say to what is unexplained.
void ExplainByEvents(std::string_view text, JobList& list);

// Parses "512Mi", "1.5G" or "1000"; nullopt if it is none of these.
std::optional<Bytes> ParseQuantity(std::string_view text);

}  // namespace reveza::jobs
