// What is written to the API server.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/units.h"
#include "reveza/jobs/cluster/kubernetes_objects.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kSecondsAfterEnd = 24 * 3600;  // that a Job is kept, for its owner to look at
constexpr std::size_t kMaxJobName = 59;      // with a suffix "-999" it is the host name of a pod
constexpr const char* kGpu = "reveza.io/gpu";

json& ObjectAt(json& in, const char* key) {
  json& value = in[key];
  if (!value.is_object()) value = json::object();
  return value;
}

json& ListAt(json& in, const char* key) {
  json& value = in[key];
  if (!value.is_array()) value = json::array();
  return value;
}

Status AddVolume(const std::string& text, json& spec, json& container) {
  const std::size_t colon = text.find(':');
  const std::string source = text.substr(0, colon);
  const std::string path = colon == text.npos ? source : text.substr(colon + 1);
  if (source.empty() || !path.starts_with('/') || path.contains(':')) {
    return Fail(
        Error::Code::kInvalidArgument,
        "--volume: '{}' is invalid; write CLAIM:/PATH for a PersistentVolumeClaim, or /PATH "
        "for a folder of the nodes",
        text);
  }
  json& volumes = ListAt(spec, "volumes");
  const std::string name = fmt::format("reveza-{}", volumes.size());
  json volume = json::object({{"name", name}});
  if (source.starts_with('/')) {
    // Without a type a folder that a node lacks would be made there.
    volume["hostPath"] = {{"path", source}, {"type", "Directory"}};
  } else {
    volume["persistentVolumeClaim"]["claimName"] = source;
  }
  volumes.push_back(std::move(volume));
  ListAt(container, "volumeMounts").push_back({{"name", name}, {"mountPath", path}});
  return {};
}

// Returns whether a path is on one of the volumes of a container.
bool IsMounted(const fs::path& path, const json& container) {
  const auto mounts = container.find("volumeMounts");
  if (mounts == container.end()) return false;
  return std::ranges::any_of(*mounts, [&](const json& mount) {
    const fs::path relative = path.lexically_relative(mount.value("mountPath", ""));
    return !relative.empty() && *relative.begin() != "..";
  });
}

Status CheckContainer(const PodSettings& settings, const json& spec, const json& container) {
  for (const char* key : {"command", "args"}) {
    if (!container.contains(key)) continue;
    return Fail(
        Error::Code::kInvalidArgument,
        "--pod-template: the first container has '{}': that is for reveza to say, which runs "
        "the steps there",
        key);
  }
  if (spec.value("restartPolicy", "Never") != "Never") {
    return Fail(
        Error::Code::kInvalidArgument,
        "--pod-template: restartPolicy must be Never: steps that did not end are handed over "
        "again by reveza");
  }
  if (container.value("image", "").empty()) {
    return Fail(
        Error::Code::kInvalidArgument,
        "--on kubernetes requires --image IMAGE, in which steps run, or --pod-template FILE "
        "with one");
  }
  if (!IsMounted(settings.shared, container)) {
    return Fail(Error::Code::kInvalidArgument,
                "--shared: pods do not have {0}; add --volume CLAIM:{0} with a "
                "PersistentVolumeClaim, or --volume {0} if all nodes have that folder",
                settings.shared.string());
  }
  return {};
}

Result<json> FillTemplate(json pod, const PodSettings& settings) {
  json& spec = ObjectAt(pod, "spec");
  json& containers = ListAt(spec, "containers");
  if (containers.empty()) containers.push_back(json::object({{"name", "step"}}));
  json& container = containers[0];
  if (!settings.options.image.empty()) container["image"] = settings.options.image;
  for (const std::string& volume : settings.options.volumes) {
    RETURN_IF_ERROR(AddVolume(volume, spec, container));
  }
  RETURN_IF_ERROR(CheckContainer(settings, spec, container));
  spec["restartPolicy"] = "Never";
  // The journals of nodes tell by it whose they are (owner_file.cc).
  json uid = json::object({{"name", "POD_UID"}});
  uid["valueFrom"]["fieldRef"]["fieldPath"] = "metadata.uid";
  ListAt(container, "env").push_back(std::move(uid));
  for (const char* key : {"automountServiceAccountToken", "enableServiceLinks"}) {
    if (!spec.contains(key)) spec[key] = false;
  }
  // What steps write is the user's.
  json& security = ObjectAt(spec, "securityContext");
  if (!security.contains("runAsUser")) {
    security["runAsUser"] = settings.user;
    if (!security.contains("runAsGroup")) security["runAsGroup"] = settings.group;
  }
  json filled = json::object({{"spec", std::move(spec)}});
  json& metadata = filled["metadata"] = json::object();
  for (const char* key : {"labels", "annotations"}) {
    metadata[key] = pod.value("metadata", json::object()).value(key, json::object());
  }
  return filled;
}

bool HasGpu(const json& container) {
  const json resources = container.value("resources", json::object());
  if (resources.contains("claims")) return true;
  const json limits = resources.value("limits", json::object());
  for (const auto& limit : limits.items()) {
    if (limit.key().contains("gpu")) return true;
  }
  return false;
}

void AskFor(const TaskResources& each, json& container) {
  const bool has_gpu = HasGpu(container);
  json& resources = ObjectAt(container, "resources");
  json& requests = ObjectAt(resources, "requests");
  if (each.cpus > 1 || !requests.contains("cpu")) requests["cpu"] = std::to_string(each.cpus);
  json& limits = ObjectAt(resources, "limits");
  if (each.memory) requests["memory"] = limits["memory"] = std::to_string(*each.memory);
  if (each.gpu && !has_gpu) limits[kGpu] = "1";
  if (limits.empty()) resources.erase("limits");
}

}  // namespace

Result<std::string> MakePodTemplate(std::string_view manifest, const PodSettings& settings) {
  try {
    json pod = json::parse(manifest.empty() ? R"({"kind": "Pod"})" : manifest);
    if (const std::string kind = pod.value("kind", ""); kind != "Pod") {
      return Fail(Error::Code::kInvalidArgument,
                  "--pod-template: a manifest of kind Pod is needed, not '{}'", kind);
    }
    if (pod.value("metadata", json::object()).contains("namespace")) {
      return Fail(Error::Code::kInvalidArgument,
                  "--pod-template: remove metadata.namespace: Jobs are made in that of kubectl's "
                  "context (`kubectl config set-context --current --namespace=NAME`)");
    }
    ASSIGN_OR_RETURN(const json filled, FillTemplate(std::move(pod), settings));
    return filled.dump();
  } catch (const json::exception& error) {
    return Fail(Error::Code::kInvalidArgument, "--pod-template: not the manifest of a pod: {}",
                error.what());
  }
}

std::string JobNameOf(std::string_view array, std::string_view token) {
  std::string name;
  for (const char c : array) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    name += std::isalnum(static_cast<unsigned char>(lower)) != 0 ? lower : '-';
  }
  // The end distinguishes it: the hash of the folder, and the number of the array.
  const std::size_t room = kMaxJobName - token.size() - 1;
  if (name.size() > room) name.erase(0, name.size() - room);
  name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
  return fmt::format("{}-{}", name, token);
}

std::string JobManifest(std::string_view pod_template, const ArrayRequest& array,
                        const std::string& job, const fs::path& script) {
  json pod = json::parse(pod_template);
  json& container = pod["spec"]["containers"][0];
  container["command"] = {"/bin/sh", script.string()};
  AskFor(array.resources, container);
  json& labels = pod["metadata"]["labels"];
  labels["app.kubernetes.io/managed-by"] = "reveza";
  labels[kArrayLabel] = job;
  json metadata = pod["metadata"];  // queues of batch systems are labels of the Job
  metadata["name"] = job;
  metadata["annotations"]["reveza.io/folder"] = array.place.folder.string();
  return json{{"apiVersion", "batch/v1"},
              {"kind", "Job"},
              {"metadata", std::move(metadata)},
              {"spec",
               {{"completionMode", "Indexed"},
                {"completions", array.tasks},
                {"parallelism", array.tasks},
                // Reveza itself starts again what did not end: the journal knows what that is.
                {"backoffLimitPerIndex", 0},
                {"ttlSecondsAfterFinished", kSecondsAfterEnd},
                {"template", std::move(pod)}}}}
             .dump(1) +
         '\n';
}

std::string JobOfManifest(std::string_view manifest) {
  const json job = json::parse(manifest, nullptr, false);
  const json metadata = job.is_object() ? job.value("metadata", json()) : json();
  return metadata.is_object() ? metadata.value("name", "") : "";
}

}  // namespace reveza::jobs
