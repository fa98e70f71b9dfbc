// Test fixture: a job on a Slurm, Ray or Kubernetes of scripts, whose tasks are real runners on
// this machine.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reveza/jobs/cluster/cluster_run.h"
#include "reveza/jobs/cluster/kubernetes.h"
#include "reveza/jobs/cluster/ray.h"
#include "reveza/jobs/cluster/slurm.h"
#include "reveza/jobs/cluster/testing_fake_kubernetes.h"
#include "reveza/jobs/cluster/testing_fake_ray.h"
#include "reveza/jobs/cluster/testing_fake_slurm.h"
#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {

class ClusterTest : public EngineTest {
 protected:
  explicit ClusterTest(ClusterKind kind = ClusterKind::kSlurm) : kind_(kind) { Use(); }
  ~ClusterTest() override { std::filesystem::remove_all(state()); }

  void Use() const {
    if (kind_ == ClusterKind::kSlurm) UseFakeSlurm(folder_.path());
    if (kind_ == ClusterKind::kRay) UseFakeRay(folder_.path());
    if (kind_ == ClusterKind::kKubernetes) UseFakeKubernetes(folder_.path());
  }

  // The folder of what the scripts know.
  std::filesystem::path state() const { return folder_ / NamesOf(kind_).word; }
  void Fake(const std::string& name, const std::string& text = "") const {
    std::ofstream(state() / name) << text;
  }
  void Unfake(const std::string& name) const { std::filesystem::remove(state() / name); }

  Result<std::unique_ptr<ClusterEngine>> FindEngine() const {
    if (kind_ == ClusterKind::kRay) return Ray::Find();
    if (kind_ == ClusterKind::kKubernetes) return Kubernetes::Find({}, folder_ / "shared");
    return Slurm::Find();
  }

  Result<Engine::Summary> TryOnCluster(Job job, RunRequest request = {}) {
    auto expander = Expander::Make(job);
    if (!expander) return std::unexpected(expander.error());
    request.cluster = kind_;
    request.shared_folder = folder_ / "shared";
    auto opened = OpenJob(folder_.path(), job, *expander, request, REVEZA_SUPERVISOR);
    if (!opened) return std::unexpected(opened.error());
    if (before_run_) before_run_();
    ASSIGN_OR_RETURN(auto engine, FindEngine());
    ClusterSettings settings{.engine = std::move(engine),
                             .folder = request.shared_folder / "test",
                             .reveza = program_,
                             .max_open = request.workers.value_or(1000),
                             .look_interval = std::chrono::milliseconds(20),
                             .query_interval = std::chrono::milliseconds(100),
                             .submit_delay = std::chrono::milliseconds(200)};
    return ClusterRun(std::move(opened->parts), std::move(settings), listener_).Run();
  }
  Engine::Summary OnCluster(const Job& job, const RunRequest& request = {}) {
    auto summary = TryOnCluster(job, request);
    EXPECT_TRUE(summary) << summary.error().message;
    return summary ? *summary : Engine::Summary{};
  }

  // Returns how often a command was called, with this word.
  int Calls(const std::string& command, const std::string& word = "") const {
    std::ifstream calls(state() / "calls");
    int count = 0;
    for (std::string line; std::getline(calls, line);) {
      count += line.starts_with(command + " ") && line.contains(word) ? 1 : 0;
    }
    return count;
  }
  // Returns how often an array was submitted.
  int Submits() const {
    return Calls(kind_ == ClusterKind::kSlurm ? "sbatch"
                 : kind_ == ClusterKind::kRay ? "submit"
                                              : "create");
  }
  // Lets time pass for the runners of lost tasks: nobody has heard of them.
  void SilenceRunners() const {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder_ / "shared/test")) {
      if (entry.path().extension() != ".owner" || entry.path().stem() == "runner") continue;
      std::filesystem::last_write_time(
          entry.path(), std::filesystem::file_time_type::clock::now() - std::chrono::minutes(5));
    }
  }
  bool Noted(const std::string& text) const {
    return std::ranges::any_of(listener_.notes,
                               [&](const std::string& note) { return note.contains(text); });
  }

  ClusterKind kind_;                                // of the engine
  std::function<void()> before_run_;                // once the job is open
  std::filesystem::path program_ = REVEZA_PROGRAM;  // what tasks run
};

}  // namespace reveza::jobs
