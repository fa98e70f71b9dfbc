// Kubernetes, by kubectl.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reveza/jobs/cluster/cluster_engine.h"
#include "reveza/jobs/definition/run_request.h"

namespace reveza::jobs {

// An array is an Indexed Job, and its tasks are pods of it. The manifest of the Job is in the
// folder of the array from before it is submitted.
class Kubernetes final : public ClusterEngine {
 public:
  // `shared`: the folder that pods must have on a volume. kNotFound: kubectl is not in PATH;
  // kInvalidArgument: the options do not make a pod.
  static Result<std::unique_ptr<Kubernetes>> Find(const PodOptions& options,
                                                  const std::filesystem::path& shared);

  ClusterKind kind() const override { return ClusterKind::kKubernetes; }
  std::uint32_t max_task() const override { return 1000; }
  std::string_view time_limit_advice() const override {
    return "activeDeadlineSeconds in --pod-template sets a longer one";
  }
  ArrayScript Script(const std::filesystem::path& reveza,
                     const std::filesystem::path& array) const override;
  Status Submit(const ArrayRequest& array) const override;
  Result<std::vector<TaskReport>> Tasks(std::span<const ArrayPlace> arrays) const override;
  std::vector<TaskReport> PastTasks(const ArrayPlace& array) const override;
  Status Drain(const ArrayPlace& array) const override;
  Status Cancel(const ArrayPlace& array) const override;
  bool SaysOutOfMemory(const std::filesystem::path& log) const override;

 private:
  explicit Kubernetes(std::string pod_template) : pod_template_(std::move(pod_template)) {}

  std::string pod_template_;
};

// For tests: the last line of kubectl's standard error as an error for users. kUnavailable: the API
// server did not answer; kInvalidArgument: it has refused, and the message says what to do.
Error KubectlError(std::string_view said);

}  // namespace reveza::jobs
