#include "reveza/jobs/cluster/kubernetes.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reveza/jobs/cluster/kubernetes_objects.h"

namespace reveza::jobs {
namespace kubernetes_test {

using nlohmann::json;

PodSettings Settings(PodOptions options) {
  return {.options = std::move(options), .shared = "/all/me", .user = 1000, .group = 100};
}

json TemplateOf(const PodOptions& options, std::string_view manifest = "") {
  const auto made = MakePodTemplate(manifest, Settings(options));
  EXPECT_TRUE(made) << made.error().message;
  return made ? json::parse(*made) : json();
}

std::string RefusalOf(const PodOptions& options, std::string_view manifest = "") {
  const auto made = MakePodTemplate(manifest, Settings(options));
  EXPECT_FALSE(made);
  if (made) return "";
  EXPECT_EQ(made.error().code, Error::Code::kInvalidArgument);
  return made.error().message;
}

TEST(KubernetesManifest, OptionsMakeAPod) {
  const json pod = TemplateOf({.image = "sim:1", .volumes = {"data:/all", "/usr", "/a:/b"}});
  const json& spec = pod.at("spec");
  EXPECT_EQ(spec.at("volumes"),
            json::parse(R"([{"name": "reveza-0", "persistentVolumeClaim": {"claimName": "data"}},
                            {"name": "reveza-1", "hostPath": {"path": "/usr", "type": "Directory"}},
                            {"name": "reveza-2", "hostPath": {"path": "/a", "type": "Directory"}}])"));
  EXPECT_EQ(spec.at("containers"), json::parse(R"([{"name": "step", "image": "sim:1",
      "env": [{"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}],
      "volumeMounts": [{"name": "reveza-0", "mountPath": "/all"},
                       {"name": "reveza-1", "mountPath": "/usr"},
                       {"name": "reveza-2", "mountPath": "/b"}]}])"));
  EXPECT_EQ(spec.at("restartPolicy"), "Never");
  EXPECT_EQ(spec.at("securityContext"), json::parse(R"({"runAsUser": 1000, "runAsGroup": 100})"));
}

TEST(KubernetesManifest, ATemplateKeepsWhatItHas) {
  const json pod = TemplateOf({.volumes = {"data:/all"}}, R"({"kind": "Pod",
      "metadata": {"name": "unused", "labels": {"queue": "q"}},
      "spec": {"nodeSelector": {"disk": "fast"}, "securityContext": {"runAsUser": 7},
               "automountServiceAccountToken": true,
               "containers": [{"name": "main", "image": "old", "env": [{"name": "A", "value": "b"}]},
                              {"name": "beside", "image": "b"}]}})");
  EXPECT_EQ(pod.at("metadata").at("labels"), json::parse(R"({"queue": "q"})"));
  EXPECT_FALSE(pod.at("metadata").contains("name"));
  const json& spec = pod.at("spec");
  EXPECT_EQ(spec.at("nodeSelector").at("disk"), "fast");
  EXPECT_EQ(spec.at("securityContext"), json::parse(R"({"runAsUser": 7})"));
  EXPECT_EQ(spec.at("automountServiceAccountToken"), true);
  EXPECT_EQ(spec.at("containers").at(0).at("image"), "old");
  EXPECT_EQ(spec.at("containers").at(0).at("env").size(), 2u);
  EXPECT_EQ(spec.at("containers").size(), 2u);
  EXPECT_EQ(TemplateOf({.image = "new", .volumes = {"/all"}},
                       R"({"kind": "Pod", "spec": {"containers": [{"image": "old"}]}})")
                .at("spec")
                .at("containers")
                .at(0)
                .at("image"),
            "new");
}

TEST(KubernetesManifest, SaysWhatIsMissingOrWrong) {
  EXPECT_TRUE(RefusalOf({.volumes = {"/all"}}).contains("requires --image"));
  EXPECT_TRUE(RefusalOf({.image = "x"}).contains("add --volume CLAIM:/all/me"));
  EXPECT_TRUE(RefusalOf({.image = "x", .volumes = {"/al"}}).contains("pods do not have /all/me"));
  for (const char* volume : {"data", "data:all", ":/all", "data:/all:ro", ""}) {
    EXPECT_TRUE(RefusalOf({.image = "x", .volumes = {volume}}).starts_with("--volume: '"))
        << volume;
  }
  const auto of = [](const char* manifest) {
    return RefusalOf({.image = "x", .volumes = {"/all"}}, manifest);
  };
  EXPECT_TRUE(of(R"({"kind": "Deployment"})").contains("not 'Deployment'"));
  EXPECT_TRUE(of(R"({"kind": "Pod", "metadata": {"namespace": "n"}})").contains("namespace"));
  EXPECT_TRUE(of(R"({"kind": "Pod", "spec": {"containers": [{"command": ["x"]}]}})")
                  .contains("has 'command'"));
  EXPECT_TRUE(of(R"({"kind": "Pod", "spec": {"restartPolicy": "Always"}})").contains("Never"));
  EXPECT_TRUE(of(R"({"kind": "Pod", "spec": 3, "metadata": []})").contains("not the manifest"));
}

json ManifestOf(const TaskResources& resources, std::string_view pod = "") {
  const json made = TemplateOf({.image = "x", .volumes = {"/all"}}, pod);
  const ArrayRequest array{.place = {.name = "sweep-1.2", .folder = "/all/me/sweep/array-2"},
                           .tasks = 7,
                           .resources = resources,
                           .reveza = "/bin/reveza"};
  return json::parse(JobManifest(made.dump(), array, "sweep-1-2-f00", "/s/run.sh"));
}

TEST(KubernetesManifest, AnArrayIsAnIndexedJob) {
  const json job = ManifestOf({.cpus = 3, .memory = 1000, .gpu = true},
                              R"({"kind": "Pod", "metadata": {"labels": {"queue": "q"}}})");
  EXPECT_EQ(job.at("metadata").at("name"), "sweep-1-2-f00");
  EXPECT_EQ(JobOfManifest(job.dump()), "sweep-1-2-f00");
  EXPECT_EQ(job.at("metadata").at("labels").at("queue"), "q") << "as Kueue reads it";
  json spec = job.at("spec");
  EXPECT_EQ(spec.at("template").at("metadata").at("labels").at(kArrayLabel), "sweep-1-2-f00");
  const json container = spec.at("template").at("spec").at("containers").at(0);
  EXPECT_EQ(container.at("command"), json::parse(R"(["/bin/sh", "/s/run.sh"])"));
  EXPECT_EQ(container.at("resources"), json::parse(R"({"requests": {"cpu": "3", "memory": "1000"},
      "limits": {"memory": "1000", "reveza.io/gpu": "1"}})"));
  spec.erase("template");
  EXPECT_EQ(spec, json::parse(R"({"completionMode": "Indexed", "completions": 7, "parallelism": 7,
      "backoffLimitPerIndex": 0, "ttlSecondsAfterFinished": 86400})"));
}

TEST(KubernetesManifest, WhatATemplateAsksForIsKept) {
  const auto resources_of = [](const TaskResources& each, const std::string& resources) {
    return ManifestOf(each,
                      R"({"kind": "Pod", "spec": {"containers": [{"name": "c", "resources": )" +
                          resources + "}]}}")
        .at("spec")
        .at("template")
        .at("spec")
        .at("containers")
        .at(0)
        .at("resources");
  };
  EXPECT_EQ(resources_of({}, "{}"), json::parse(R"({"requests": {"cpu": "1"}})"));
  EXPECT_EQ(resources_of({}, R"({"requests": {"cpu": "500m", "memory": "1Gi"}})"),
            json::parse(R"({"requests": {"cpu": "500m", "memory": "1Gi"}})"));
  for (const char* gpu :
       {R"({"limits": {"nvidia.com/gpu": 1}})", R"({"claims": [{"name": "g"}]})"}) {
    EXPECT_FALSE(resources_of({.gpu = true}, gpu).dump().contains("reveza.io/gpu")) << gpu;
  }
}

TEST(KubernetesManifest, NamesOfJobsAreLabelsOfDns) {
  EXPECT_EQ(JobNameOf("Sweep_2.x-0a1b2c3d.12", "00ff00ff"), "sweep-2-x-0a1b2c3d-12-00ff00ff");
  const std::string longest =
      JobNameOf(std::string(64, 'n') + "-0a1b2c3d.1000", "00ff00ff") + "-999";
  EXPECT_EQ(longest.size(), 63u);
  EXPECT_TRUE(longest.ends_with("n-0a1b2c3d-1000-00ff00ff-999"));
  EXPECT_EQ(JobNameOf("__-0a1b2c3d.1", "f"), "0a1b2c3d-1-f");
}

// Returns a pod of task 1, with a status.
std::string Pod(const std::string& status, const std::string& metadata = "") {
  return R"({"kind": "Pod", "metadata": {)" + metadata + R"("name": "p",
      "labels": {"reveza.io/array": "job"},
      "annotations": {"batch.kubernetes.io/job-completion-index": "0"}},
      "spec": {"containers": [{"name": "c", "resources": {"limits": {"memory": "1Gi"}}}]},
      "status": )" +
         status + "}";
}
std::string Job(const std::string& status) {
  return R"({"kind": "Job", "metadata": {"name": "job", "labels": {"reveza.io/array": "job"}},
      "spec": {"completions": 4}, "status": )" +
         status + "}";
}

JobList ListOf(const std::string& items) {
  const auto list = ParseJobList(R"({"items": [)" + items + "]}", {{"job", "sweep-1.2"}});
  EXPECT_TRUE(list) << list.error().message;
  return list ? *list : JobList{};
}

TaskReport ReportOf(const std::string& pod) {
  const JobList list = ListOf(pod);
  EXPECT_EQ(list.reports.size(), 1u);
  return list.reports.empty() ? TaskReport{} : list.reports[0];
}

constexpr const char* kDeleted = R"("deletionTimestamp": "2026-01-01T00:00:00Z", )";

std::string Ended(const char* phase, const char* terminated, const char* more = "") {
  return std::string(R"({"phase": ")") + phase + '"' + more +
         R"(, "containerStatuses": [{"name": "beside", "state": {"running": {}}},
                                    {"name": "c", "state": {"terminated": )" +
         terminated + "}}]}";
}

TEST(KubernetesStatus, ReadsWherePodsAre) {
  const TaskReport running = ReportOf(Pod(
      R"({"phase": "Running", "containerStatuses": [{"name": "c", "state": {"running": {}}}]})"));
  EXPECT_EQ(running.array, "sweep-1.2");
  EXPECT_EQ(running.task, 1u);
  EXPECT_EQ(running.state, TaskState::kRunning);
  EXPECT_EQ(running.memory, kGiB);
  const TaskReport pulled = ReportOf(Pod(R"({"phase": "Pending", "containerStatuses": [{"name": "c",
      "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling x"}}}]})"));
  EXPECT_EQ(pulled.state, TaskState::kPending);
  EXPECT_EQ(pulled.reason, "ImagePullBackOff: Back-off pulling x");
  const TaskReport waiting = ReportOf(Pod(R"({"phase": "Pending", "conditions": [
      {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]})"));
  EXPECT_EQ(waiting.reason, "Unschedulable: 0/1 nodes");
}

TEST(KubernetesStatus, ReadsHowPodsHaveEnded) {
  struct Case {
    std::string pod;
    TaskState state;
    bool is_gone;
  };
  const char* const kLost =
      R"(, "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}])";
  for (const Case& one : {
           Case{Pod(Ended("Succeeded", R"({"exitCode": 0, "reason": "Completed"})")),
                TaskState::kEnded, true},
           Case{Pod(Ended("Failed", R"({"exitCode": 20, "reason": "Error"})")), TaskState::kEnded,
                true},
           // A container beside ours goes on.
           Case{Pod(Ended("Running", R"({"exitCode": 0, "reason": "Completed"})")),
                TaskState::kEnded, true},
           Case{Pod(Ended("Failed", R"({"exitCode": 137, "reason": "OOMKilled"})")),
                TaskState::kOutOfMemory, true},
           Case{Pod(Ended("Failed", R"({"exitCode": 143, "reason": "Error"})",
                          R"(, "reason": "DeadlineExceeded")")),
                TaskState::kTimeLimit, true},
           Case{Pod(Ended("Failed", R"({"exitCode": 137, "reason": "Error"})",
                          R"(, "reason": "Evicted", "message": "low on resource: memory. T")")),
                TaskState::kOutOfMemory, true},
           Case{Pod(Ended(
                    "Failed", R"({"exitCode": 137, "reason": "Error"})",
                    R"(, "reason": "Evicted", "message": "low on resource: ephemeral-storage")")),
                TaskState::kCancelled, true},
           Case{Pod(Ended("Failed", R"({"exitCode": 143, "reason": "Error"})", kLost)),
                TaskState::kNodeLost, true},
           // kubelet does not know what has become of it.
           Case{Pod(Ended("Failed", R"({"exitCode": 137, "reason": "ContainerStatusUnknown"})",
                          kLost)),
                TaskState::kNodeLost, false},
           Case{Pod(Ended("Running", R"({"exitCode": 130, "reason": "Error"})"), kDeleted),
                TaskState::kCancelled, true},
           Case{Pod(R"({"phase": "Running"})", kDeleted), TaskState::kNodeLost, false},
           Case{Pod(R"({"phase": "Pending"})", kDeleted), TaskState::kNodeLost, false},
           Case{Pod(R"({"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "m"})"),
                TaskState::kCancelled, false},
       }) {
    const TaskReport report = ReportOf(one.pod);
    EXPECT_EQ(report.state, one.state) << one.pod;
    EXPECT_EQ(report.is_gone, one.is_gone) << one.pod;
  }
}

TEST(KubernetesStatus, TasksWithoutPodAreKnownByTheirJob) {
  const JobList list = ListOf(Pod(R"({"phase": "Running"})") + "," +
                              Job(R"({"completedIndexes": "1", "failedIndexes": "2-2"})"));
  ASSERT_EQ(list.reports.size(), 4u);
  const TaskState expected[] = {TaskState::kRunning, TaskState::kEnded, TaskState::kNodeLost,
                                TaskState::kPending};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(list.reports[i].task, i + 1);
    EXPECT_EQ(list.reports[i].state, expected[i]) << i;
  }
  EXPECT_EQ(list.unexplained.count("job"), 1u);
  for (const TaskReport& report : ListOf(Job(R"({"conditions": [{"type": "Suspended",
           "status": "True", "reason": "JobSuspended", "message": "m"}]})"))
                                      .reports) {
    EXPECT_EQ(report.reason, "JobSuspended: m");
  }
  for (const TaskReport& report :
       ListOf(Job(R"({"conditions": [{"type": "Failed", "status": "True"}]})")).reports) {
    EXPECT_EQ(report.state, TaskState::kNodeLost);
  }
}

TEST(KubernetesStatus, EventsExplainWhatIsNotExplained) {
  JobList list = ListOf(Pod(R"({"phase": "Pending"})") + "," + Job("{}"));
  ExplainByEvents(R"({"items": [
      {"involvedObject": {"name": "p"}, "reason": "FailedMount", "message": "no such claim"},
      {"involvedObject": {"name": "other"}, "reason": "x", "message": "y"},
      {"involvedObject": {"name": "job"}, "reason": "FailedCreate", "message": "exceeded quota"}]})",
                  list);
  EXPECT_EQ(list.reports[0].reason, "FailedMount: no such claim");
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(list.reports[i].reason, "FailedCreate: exceeded quota");
  }
  ExplainByEvents("garbage", list);
}

TEST(KubernetesStatus, OthersAreSkipped) {
  EXPECT_TRUE(
      ListOf(R"({"kind": "Job", "metadata": {"name": "other"}, "spec": {"completions": 1}})")
          .reports.empty());
  EXPECT_FALSE(ParseJobList("garbage", {}));
  EXPECT_FALSE(ParseJobList(R"({"items": [{"kind": "Pod"}]})", {}));
}

TEST(KubernetesStatus, ReadsQuantities) {
  EXPECT_EQ(ParseQuantity("1342177280"), 1280 * kMiB);
  EXPECT_EQ(ParseQuantity("512Mi"), 512 * kMiB);
  EXPECT_EQ(ParseQuantity("1.5Gi"), 1536 * kMiB);
  EXPECT_EQ(ParseQuantity("2G"), 2'000'000'000u);
  for (const char* wrong : {"", "0", "Mi", "3X", "-1"})
    EXPECT_EQ(ParseQuantity(wrong), std::nullopt);
}

TEST(KubernetesErrors, RefusalsSayWhatToDo) {
  struct Case {
    const char* said;
    const char* advice;
  };
  for (const auto& [said, advice] : {
           Case{"The connection to the server localhost:8080 was refused - did you specify the "
                "right "
                "host or port?",
                "kubectl config use-context"},
           Case{"Error from server (NotFound): error when creating \"job.json\": namespaces \"x\" "
                "not "
                "found",
                "--namespace=NAME"},
           Case{"Error from server (Forbidden): error when creating \"job.json\": jobs.batch is "
                "forbidden: User \"bob\" cannot create resource \"jobs\" in API group \"batch\" in "
                "the "
                "namespace \"x\"",
                "an administrator can allow it"},
           Case{"error: You must be logged in to the server (Unauthorized)", "log in"},
           Case{"Error from server (Forbidden): error when creating \"job.json\": jobs.batch \"j\" "
                "is "
                "forbidden: exceeded quota: q, requested: count/jobs.batch=1",
                "a larger quota"},
           Case{"Error from server (BadRequest): Job in version \"v1\" cannot be handled as a Job: "
                "strict decoding error: unknown field \"spec.template.spec.timeout\"",
                "unknown field"},
           Case{"The Job \"x\" is invalid: spec.template.spec.containers[0].image: Required value",
                "Required value"},
       }) {
    const Error error = KubectlError(said);
    EXPECT_EQ(error.code, Error::Code::kInvalidArgument) << said;
    EXPECT_TRUE(error.message.contains(advice)) << error.message;
    EXPECT_TRUE(error.message.starts_with("kubectl: ")) << error.message;
  }
}

TEST(KubernetesErrors, WhatIsNotAnsweredIsAskedAgain) {
  const Error error = KubectlError(
      "error: error validating \"job.json\": error validating data: failed to download openapi: "
      "Get "
      "\"https://192.0.2.1:6443/openapi/v2?timeout=20s\": dial tcp 192.0.2.1:6443: connect: "
      "connection refused; if you choose to ignore these errors, turn validation off with "
      "--validate=false");
  EXPECT_EQ(error.code, Error::Code::kUnavailable);
  EXPECT_TRUE(error.message.starts_with("kubectl: Get ")) << error.message;
  EXPECT_FALSE(error.message.contains("--validate")) << error.message;
  for (const char* said :
       {"Unable to connect to the server: dial tcp 192.0.2.1:6443: i/o timeout",
        "The connection to the server 192.0.2.1:6443 was refused - did you specify the right host "
        "or "
        "port?",
        "Error from server: etcdserver: request timed out",
        "Error from server (InternalError): an error on the server has prevented it",
        "Error from server (TooManyRequests): the server has received too many requests",
        "Error from server (Timeout): the server was unable to return a response in time"}) {
    EXPECT_EQ(KubectlError(said).code, Error::Code::kUnavailable) << said;
  }
}

}  // namespace kubernetes_test
}  // namespace reveza::jobs
