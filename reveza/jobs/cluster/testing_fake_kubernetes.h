// For tests: a Kubernetes of a script (testing_kubernetes/), whose state is files of a folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace reveza::jobs {

// Puts its kubectl into folder/bin, which is the first of PATH then; its state is in
// folder/kubernetes. Pods have the folder, by a template that the environment names. Removing the
// state ends what waits for a queue that nothing empties.
inline void UseFakeKubernetes(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  fs::create_directories(folder / "kubernetes");
  fs::create_directories(folder / "bin");
  fs::create_symlink(REVEZA_FAKE_KUBERNETES, folder / "bin/kubectl");
  std::ofstream(folder / "pod.json")
      << R"({"kind": "Pod", "spec": {"containers": [{"name": "c", "image": "x", "volumeMounts": [{"mountPath": ")"
      << folder.string() << R"(", "name": "v"}]}]}})";
  setenv("REVEZA_POD_TEMPLATE", (folder / "pod.json").c_str(), 1);
  setenv("PATH", ((folder / "bin").string() + ":" + getenv("PATH")).c_str(), 1);
  setenv("FAKE_KUBERNETES", (folder / "kubernetes").c_str(), 1);
}

}  // namespace reveza::jobs
