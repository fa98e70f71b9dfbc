#include "reveza/jobs/definition/thread_environment.h"

#include <gtest/gtest.h>

#include <map>

#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace thread_environment_test {

using Variables = std::map<std::string, std::string>;

platform::Environment Of(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

Variables Settings(const ThreadRequest& request, Variables set = {}) {
  Variables result;
  for (const auto& setting : MakeThreadEnvironment(request, Of(std::move(set))).settings) {
    EXPECT_FALSE(setting.reason.empty()) << setting.name;
    result[setting.name] = setting.value;
  }
  return result;
}

std::string Kept(const ThreadRequest& request, const Variables& set, const std::string& name) {
  for (const auto& kept : MakeThreadEnvironment(request, Of(set)).kept) {
    if (kept.name == name) return kept.reason;
  }
  return "";
}

Topology TwoNodes() {
  return {{.number = 0, .cores = {0, 1, 2, 3}}, {.number = 1, .cores = {4, 5, 6, 7}}};
}

TEST(ThreadEnvironment, SetsThreadCountsToTheShare) {
  const auto set = Settings({.share = 2.5, .workers = 3});
  for (const char* name :
       {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
        "RAYON_NUM_THREADS", "POLARS_MAX_THREADS", "GOMAXPROCS", "JULIA_NUM_THREADS"}) {
    EXPECT_EQ(set.at(name), "2") << name;
  }
  EXPECT_EQ(set.at("MALLOC_ARENA_MAX"), "2");
  EXPECT_EQ(Settings({.share = 0.2}).at("OMP_NUM_THREADS"), "1") << "at least 1";
  EXPECT_EQ(Settings({.share = 16}).at("MALLOC_ARENA_MAX"), "16");
}

TEST(ThreadEnvironment, KeepsUserVariables) {
  const ThreadRequest request = {.share = 1, .workers = 4};
  auto set = Settings(request, {{"OMP_NUM_THREADS", "3"}});
  EXPECT_FALSE(set.contains("OMP_NUM_THREADS"));
  EXPECT_FALSE(set.contains("MKL_NUM_THREADS")) << "it follows OMP_NUM_THREADS";
  EXPECT_TRUE(set.contains("RAYON_NUM_THREADS")) << "it does not";
  EXPECT_NE(Kept(request, {{"OMP_NUM_THREADS", "3"}}, "OMP_NUM_THREADS").find("exceeds its share"),
            std::string::npos);
  EXPECT_EQ(Kept(request, {{"OMP_NUM_THREADS", "1"}}, "OMP_NUM_THREADS"), "set by you");
  EXPECT_EQ(Kept({.share = 1, .workers = 1}, {{"OMP_NUM_THREADS", "3"}}, "OMP_NUM_THREADS"),
            "set by you");
  set = Settings(request, {{"MKL_NUM_THREADS", "3"}});
  EXPECT_TRUE(set.contains("OMP_NUM_THREADS") && !set.contains("MKL_NUM_THREADS"));
  EXPECT_FALSE(Settings(request, {{"MALLOC_ARENA_MAX", "1"}}).contains("MALLOC_ARENA_MAX"));
  EXPECT_FALSE(Settings(request, {{"GLIBC_TUNABLES", "glibc.malloc.arena_max=1"}})
                   .contains("MALLOC_ARENA_MAX"));
  EXPECT_TRUE(
      Settings(request, {{"GLIBC_TUNABLES", "glibc.malloc.check=1"}}).contains("MALLOC_ARENA_MAX"));
}

TEST(ThreadEnvironment, UsesTheAllocatorVariableOfTheTorchVersion) {
  const auto with = [](unsigned major, unsigned minor, Variables set = {}) {
    return Settings({.workers = 2, .gpu = true, .torch = TorchVersion{major, minor}},
                    std::move(set));
  };
  EXPECT_TRUE(with(2, 4).contains("PYTORCH_CUDA_ALLOC_CONF"));
  EXPECT_FALSE(with(2, 4).contains("PYTORCH_ALLOC_CONF")) << "2.4 ignores it";
  EXPECT_TRUE(with(2, 9).contains("PYTORCH_ALLOC_CONF"));
  EXPECT_FALSE(with(2, 9).contains("PYTORCH_CUDA_ALLOC_CONF")) << "deprecated in 2.9";
  EXPECT_TRUE(with(3, 0).contains("PYTORCH_ALLOC_CONF"));
  for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    EXPECT_FALSE(with(2, 0).contains(name)) << "2.0 fails to start with it";
    EXPECT_FALSE(with(2, 4, {{"PYTORCH_ALLOC_CONF", "x"}}).contains(name));
    EXPECT_FALSE(with(2, 9, {{"PYTORCH_CUDA_ALLOC_CONF", "x"}}).contains(name));
    EXPECT_FALSE(Settings({.workers = 2, .gpu = true}).contains(name)) << "no PyTorch";
    EXPECT_FALSE(Settings({.workers = 2, .torch = TorchVersion{2, 4}}).contains(name)) << "no GPU";
    EXPECT_FALSE(Settings({.workers = 1, .gpu = true, .torch = TorchVersion{2, 4}}).contains(name))
        << "no other worker on the GPU";
  }
}

TEST(ThreadEnvironment, RemarksOnIgnoredVariables) {
  ThreadRequest request = {.workers = 2, .gpu = true, .torch = TorchVersion{2, 4}};
  EXPECT_NE(Kept(request, {{"PYTORCH_ALLOC_CONF", "x"}}, "PYTORCH_ALLOC_CONF")
                .find("ignored by PyTorch 2.4"),
            std::string::npos);
  EXPECT_EQ(Kept(request, {{"PYTORCH_CUDA_ALLOC_CONF", "x"}}, "PYTORCH_CUDA_ALLOC_CONF"),
            "set by you");
  request.torch = TorchVersion{2, 9};
  EXPECT_NE(Kept(request, {{"PYTORCH_CUDA_ALLOC_CONF", "x"}}, "PYTORCH_CUDA_ALLOC_CONF")
                .find("deprecated in PyTorch 2.9"),
            std::string::npos);
}

TEST(ThreadEnvironment, PinsAWorkerToOneNode) {
  std::vector<unsigned> on_second;
  for (unsigned slot = 1; slot <= 4; ++slot) {
    const auto made = MakeThreadEnvironment(
        {.share = 2, .workers = 4, .slot = slot, .topology = TwoNodes()}, Of({}));
    ASSERT_EQ(made.cores.size(), 4u) << slot;
    if (made.cores.front() == 4) on_second.push_back(slot);
  }
  EXPECT_EQ(on_second, (std::vector<unsigned>{3, 4})) << "half of them on each";
  EXPECT_EQ(MakeThreadEnvironment({.workers = 4, .slot = 7, .topology = TwoNodes()}, Of({})).cores,
            (std::vector<unsigned>{4, 5, 6, 7}))
      << "slots beyond the current number of workers wrap around";
}

TEST(ThreadEnvironment, PinsOnlyWithSeveralNodesAndWorkers) {
  const auto reason = [](const ThreadRequest& request, Variables set = {}) {
    const auto made = MakeThreadEnvironment(request, Of(std::move(set)));
    EXPECT_TRUE(made.cores.empty());
    return made.cores_reason;
  };
  EXPECT_NE(reason({.workers = 2}).find("unknown"), std::string::npos);
  EXPECT_NE(
      reason({.workers = 2, .topology = {{.number = 0, .cores = {0, 1}}}}).find("single NUMA"),
      std::string::npos);
  EXPECT_NE(reason({.share = 8, .workers = 1, .topology = TwoNodes()}).find("one worker"),
            std::string::npos);
  EXPECT_NE(reason({.share = 5, .workers = 2, .topology = TwoNodes()}).find("exceeds NUMA node 0"),
            std::string::npos);
  EXPECT_NE(reason({.workers = 2, .topology = TwoNodes()}, {{"OMP_PLACES", "cores"}})
                .find("OMP_PLACES is set by you"),
            std::string::npos);
}

TEST(ReadTopology, ReadsTheCoresOfEachNode) {
  platform::TestingDirectory root;
  EXPECT_TRUE(ReadTopology(root.path()).empty());
  root.Write("sys/devices/system/cpu/online", "0-7\n");
  EXPECT_EQ(ReadTopology(root.path()),
            (Topology{{.number = 0, .cores = {0, 1, 2, 3, 4, 5, 6, 7}}}));
  root.Write("sys/devices/system/node/node1/cpulist", "4-7\n");
  root.Write("sys/devices/system/node/node0/cpulist", "0-3\n");
  root.Write("sys/devices/system/node/node2/cpulist", "\n");
  root.Write("sys/devices/system/node/nodes/cpulist", "9\n");
  root.Write("sys/devices/system/node/online", "0-2\n");
  EXPECT_EQ(ReadTopology(root.path()), TwoNodes()) << "nodes without cores are skipped";
  root.Write("proc/self/status", "Name:\tx\nCpus_allowed:\tfe\nCpus_allowed_list:\t1-2,4\n");
  EXPECT_EQ(ReadTopology(root.path()),
            (Topology{{.number = 0, .cores = {1, 2}}, {.number = 1, .cores = {4}}}));
  root.Write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t1-2\n");
  EXPECT_EQ(ReadTopology(root.path()).size(), 1u);
}

TEST(ReadTopology, WorksOnThisMachine) { EXPECT_FALSE(ReadTopology().empty()); }

TEST(FindTorch, ReadsPackagesOfTheInterpreter) {
  platform::TestingDirectory folder;
  EXPECT_EQ(FindTorch(folder / "bin/python3"), std::nullopt);
  std::filesystem::create_directories(folder / "lib/python3.11/site-packages/torch");
  std::filesystem::create_directories(folder / "lib/python3.11/site-packages/torch-x.dist-info");
  std::filesystem::create_directories(folder /
                                      "lib/python3.11/site-packages/torchvision-0.9.dist-info");
  EXPECT_EQ(FindTorch(folder / "bin/python3"), std::nullopt);
  std::filesystem::create_directories(folder /
                                      "lib/python3.11/site-packages/torch-2.10.1+cu130.dist-info");
  EXPECT_EQ(FindTorch(folder / "bin/python3"), (TorchVersion{2, 10}));
  EXPECT_EQ(FindTorch(folder / "bin/simulate"), std::nullopt);
}

}  // namespace thread_environment_test
}  // namespace reveza::jobs
