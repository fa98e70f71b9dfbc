#include "reveza/jobs/cluster/kubernetes.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <system_error>

#include "common/base/read_file.h"
#include "common/platform/run_program.h"
#include "common/platform/runtime_paths.h"
#include "reveza/jobs/cluster/arrays.h"
#include "reveza/jobs/cluster/kubernetes_objects.h"
#include "reveza/jobs/cluster/task_script.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "job.json";
constexpr const char* kJobs = "jobs.v1.batch";  // other groups have jobs too
constexpr const char* kRequestTimeout = "--request-timeout=20s";

// kubelet signals this script only, and once. A pod that starts late finds what the others were
// told.
constexpr const char* kPodBegin = R"(task=$((JOB_COMPLETION_INDEX + 1))
cancel={cancel}
[ ! -e "$cancel" ] || exit 0
exec >> {log}"$task.txt" 2>&1
told=
runner=
trap 'told=1; [ -z "$runner" ] || kill -TERM "$runner" 2>/dev/null' TERM
)";
constexpr const char* kPodStarted = R"(  [ -z "$told" ] || kill -TERM "$runner" 2>/dev/null
  # A signal that comes before a subshell has reset its traps is lost.
  ( until [ -e "$cancel" ]; do kill -0 "$runner" 2>/dev/null || exit; sleep 2; done
    kill -INT "$runner" 2>/dev/null ) &
  watcher=$!
)";
constexpr const char* kPodEnded = R"(  kill "$watcher" 2>/dev/null
  [ -z "$told" ] || break
)";

// What kubectl says if it was not answered, or the answer may be another one later.
constexpr auto kUnanswered = std::to_array<std::string_view>(
    {"Unable to connect", "onnection refused", "was refused", "onnection reset", "onnection lost",
     "timeout", "timed out", "deadline exceeded", "EOF", "no route to host", "no such host",
     "network is unreachable", "currently unable", "etcdserver", "leader changed"});
constexpr auto kNotNow =
    std::to_array<std::string_view>({"(InternalError)", "(ServiceUnavailable)", "(Timeout)",
                                     "(ServerTimeout)", "(TooManyRequests)"});

// What users do about what it says.
struct Advice {
  std::string_view said, and_said;
  std::string_view advice;
};
constexpr auto kAdvice = std::to_array<Advice>({
    {"localhost:8080", "refused",
     "it knows no cluster: set KUBECONFIG, or choose one by `kubectl config use-context NAME`"},
    {"namespaces ", "not found",
     "make it, or choose another by `kubectl config set-context --current --namespace=NAME`"},
    {"is forbidden: User", "cannot",
     "an administrator can allow it: docs/kubernetes-jobs.md has the rights that are needed"},
    {"Unauthorized", "", "log in to the cluster again"},
    {"exceeded quota", "", "ask for less by --workers, --cpus or --memory, or for a larger quota"},
});

bool IsAnswered(std::string_view text) {
  const auto in_text = [&](std::string_view part) { return text.contains(part); };
  // "(Forbidden): ...", or "The Job "x" is invalid: ..."
  if (text.starts_with('(')) return std::ranges::none_of(kNotNow, in_text);
  return text.starts_with("The Job") || std::ranges::none_of(kUnanswered, in_text);
}

// Runs kubectl with the user's configuration.
Result<std::string> Kubectl(std::vector<std::string> words) {
  words.insert(words.begin(), {"kubectl", kRequestTimeout});
  auto output = platform::RunProgram(words, kCommandLimit, kMaxTaskList);
  if (!output) return std::unexpected(output.error());
  if (output->status == 0) return std::move(output->out);
  return std::unexpected(KubectlError(LastLineOf(*output)));
}

std::string NewToken() {
  std::uint32_t token = 0;
  if (getrandom(&token, sizeof(token), 0) != sizeof(token)) {
    token = static_cast<std::uint32_t>(getpid());
  }
  return fmt::format("{:08x}", token);
}

// Returns the name of the Job of an array; "" if it was never submitted.
std::string JobOf(const ArrayPlace& array) {
  return JobOfManifest(ReadFile(array.folder / kManifest).value_or(""));
}

Status WriteManifest(const fs::path& folder, const std::string& text) {
  const fs::path part = folder / ".job";
  std::ofstream file(part);
  file << text;
  file.close();
  std::error_code error;
  if (file) fs::rename(part, folder / kManifest, error);
  if (file && !error) return {};
  return Fail(Error::Code::kPermission, "--shared: cannot write {}", (folder / kManifest).string());
}

// Returns a manifest, in YAML or JSON, as JSON.
Result<std::string> ReadManifest(const fs::path& file) {
  auto text = Kubectl({"patch", "--local", "--type=merge", "--patch={}", "--output=json",
                       "--filename=" + file.string()});
  if (text) return text;
  return Fail(Error::Code::kInvalidArgument, "--pod-template: {}: {}", file.string(),
              text.error().message);
}

Status RunKubectl(std::vector<std::string> words) {
  const auto output = Kubectl(std::move(words));
  if (!output) return std::unexpected(output.error());
  return {};
}

}  // namespace

Error KubectlError(std::string_view said) {
  std::string text(said);
  for (const std::string_view prefix : {"error: ", "Error from server "}) {
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
  }
  // It asks for the schema first, and advises to do without.
  constexpr std::string_view kSchema = "failed to download openapi: ";
  if (const std::size_t schema = text.find(kSchema); schema != text.npos) {
    text.erase(0, schema + kSchema.size());
    text.erase(std::min(text.find("; if you choose to ignore"), text.size()));
  }
  for (const Advice& known : kAdvice) {
    if (!text.contains(known.said) || !text.contains(known.and_said)) continue;
    return {Error::Code::kInvalidArgument, fmt::format("kubectl: {}; {}", text, known.advice)};
  }
  return {IsAnswered(text) ? Error::Code::kInvalidArgument : Error::Code::kUnavailable,
          "kubectl: " + text};
}

Result<std::unique_ptr<Kubernetes>> Kubernetes::Find(const PodOptions& options,
                                                     const fs::path& shared) {
  if (!platform::RunProgram({"kubectl", "version", "--client"}, kCommandLimit)) {
    return Fail(Error::Code::kNotFound,
                "--on kubernetes: kubectl is not in PATH; install it, and let `kubectl get pods` "
                "find the cluster");
  }
  fs::path file = options.pod_template;
  if (file.empty()) file = platform::ProcessEnvironment("REVEZA_POD_TEMPLATE").value_or("");
  std::string manifest;
  if (!file.empty()) {
    ASSIGN_OR_RETURN(manifest, ReadManifest(file));
  }
  ASSIGN_OR_RETURN(
      auto pod_template,
      MakePodTemplate(manifest,
                      {.options = options, .shared = shared, .user = getuid(), .group = getgid()}));
  return std::unique_ptr<Kubernetes>(new Kubernetes(std::move(pod_template)));
}

ArrayScript Kubernetes::Script(const fs::path& reveza, const fs::path& array) const {
  return TaskScript(
      {.reveza = reveza,
       .array = array,
       .begin = fmt::format(fmt::runtime(kPodBegin),
                            fmt::arg("log", ShellQuoted((array / "log-").string())),
                            fmt::arg("cancel", ShellQuoted((array / kCancelFile).string()))),
       .started = kPodStarted,
       .ended = kPodEnded});
}

Status Kubernetes::Submit(const ArrayRequest& array) const {
  std::string job = JobOf(array.place);
  if (job.empty()) {
    job = JobNameOf(array.place.name, NewToken());
    RETURN_IF_ERROR(
        WriteManifest(array.place.folder,
                      JobManifest(pod_template_, array, job, array.place.folder / kRunScript)));
  }
  const Status made = RunKubectl(
      {"create", "--output=name", "--filename=" + (array.place.folder / kManifest).string()});
  // An earlier answer was lost.
  if (!made && made.error().message.contains("AlreadyExists")) return {};
  return made;
}

Result<std::vector<TaskReport>> Kubernetes::Tasks(std::span<const ArrayPlace> arrays) const {
  std::map<std::string, std::string, std::less<>> names;
  std::map<std::string, bool, std::less<>> draining;
  std::string selector;
  for (const ArrayPlace& array : arrays) {
    const std::string job = JobOf(array);
    if (job.empty()) continue;
    names[job] = array.name;
    std::error_code ignored;
    draining[array.name] = fs::exists(array.folder / kCancelFile, ignored);
    selector += (selector.empty() ? "" : ",") + job;
  }
  if (names.empty()) return std::vector<TaskReport>{};
  const auto text = Kubectl({"get", fmt::format("{},pods", kJobs), "--output=json",
                             fmt::format("--selector={} in ({})", kArrayLabel, selector)});
  if (!text) return Fail(Error::Code::kUnavailable, text.error().message);
  auto list = ParseJobList(*text, names);
  if (!list) return Fail(Error::Code::kUnavailable, list.error().message);
  if (!list->unexplained.empty()) {
    const auto events =
        Kubectl({"get", "events", "--output=json", "--field-selector=type=Warning"});
    if (events) ExplainByEvents(*events, *list);
  }
  // A pod that a Job makes from now on would run nothing.
  for (const auto& [object, report] : list->unexplained) {
    TaskReport& task = list->reports[report];
    if (names.contains(object) && draining[task.array]) task.state = TaskState::kNodeLost;
  }
  return std::move(list->reports);
}

std::vector<TaskReport> Kubernetes::PastTasks(const ArrayPlace& /*array*/) const { return {}; }

Status Kubernetes::Drain(const ArrayPlace& array) const {
  RETURN_IF_ERROR(TellTasks(array.folder, "drain"));
  const std::string job = JobOf(array);
  if (job.empty()) return {};
  return RunKubectl({"delete", "pods", "--wait=false", "--ignore-not-found",
                     "--field-selector=status.phase=Pending",
                     fmt::format("--selector={}={}", kArrayLabel, job)});
}

Status Kubernetes::Cancel(const ArrayPlace& array) const {
  RETURN_IF_ERROR(TellTasks(array.folder, "cancel"));
  const std::string job = JobOf(array);
  if (job.empty()) return {};
  return RunKubectl({"delete", kJobs, job, "--wait=false", "--ignore-not-found"});
}

bool Kubernetes::SaysOutOfMemory(const fs::path& /*log*/) const { return false; }

}  // namespace reveza::jobs
