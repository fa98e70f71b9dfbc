#include "reveza/insight/monitor/daemon_status.h"

#include <gtest/gtest.h>

namespace reveza::monitor {
namespace daemon_status_test {

using nlohmann::json;

json Status() {
  return json::parse(R"({
    "version": "0.1.0", "protocol": 4, "pid": 7505, "uptime_s": 6.5, "gpu_budget": null,
    "host": {"budget": 1000, "reserved": 300},
    "gpus": [{"index": 0, "uuid": "GPU-1", "name": "fakecuda", "total": 256, "budget": 248,
              "resident": 244, "swapped": 90, "credit": 240, "external": 4, "used": null,
              "outside": [{"pid": 99, "command": "other", "bytes": 4, "lost": false}],
              "handover": {"count": 4, "mean_ms": 119.0, "drain_ms": 30.0, "out_ms": 60.0,
                           "in_ms": 43.0, "bytes_out": 500, "bytes_in": 400, "gb_per_s": 0.9}}],
    "clients": [{"pid": 7501, "name": "ana", "command": "python", "job": "aa", "state": "running",
                 "why": "", "footprint": {"resident": 180, "swapped": 0, "pinned": 2, "context": 1},
                 "gpus": [{"gpu": 1, "resident": 180, "swapped": 7, "pinned": 2, "context": 1}],
                 "share": 0.88, "share_wanted": 0.5, "share_got": 0.6,
                 "policy": {"weight": 1.0, "priority": "high", "interactive": false, "paused": false,
                            "memory_request": 0, "memory_limit": null},
                 "wait_ms": {"count": 3, "p50": 5.0, "p95": 10.0, "p99": 20.0}, "turns": 4, "ran_s": 5.0, "waited_s": 1.0,
                 "copied_out": 50, "copied_in": 40, "unpreemptible": false,
                 "unresponsive": false}]})");
}

TEST(ReadDaemonStatus, ParsesAllFields) {
  Snapshot snapshot;
  ReadDaemonStatus(Status(), true, snapshot);
  ASSERT_TRUE(snapshot.daemon);
  EXPECT_EQ(snapshot.daemon->pid, 7505);
  EXPECT_EQ(snapshot.daemon->host_reserved, 300u);
  ASSERT_EQ(snapshot.gpus.size(), 1u);
  const Gpu& gpu = snapshot.gpus[0];
  EXPECT_EQ(gpu.budget, 248u);
  EXPECT_EQ(gpu.swapped, 90u);
  EXPECT_EQ(gpu.used, std::nullopt);
  ASSERT_TRUE(gpu.handovers);
  EXPECT_EQ(gpu.handovers->count, 4u);
  EXPECT_EQ(gpu.handovers->mean_seconds, 0.119);
  EXPECT_EQ(gpu.swapped_out_all, 500u);
  ASSERT_EQ(snapshot.clients.size(), 1u);
  EXPECT_EQ(snapshot.clients[0].pid, 7501);
  EXPECT_EQ(snapshot.clients[0].fixed, 3u);
  EXPECT_EQ(snapshot.clients[0].policy, "high priority");
  EXPECT_EQ(snapshot.clients[0].share_wanted, 0.5);
  EXPECT_EQ(snapshot.clients[0].share_got, 0.6);
  EXPECT_EQ(snapshot.clients[0].ran_seconds, 5.0);
  EXPECT_EQ(snapshot.clients[0].waited_seconds, 1.0);
  ASSERT_EQ(snapshot.clients[0].gpus.size(), 1u);
  EXPECT_EQ(snapshot.clients[0].gpus[0].gpu, 1u);
  EXPECT_EQ(snapshot.clients[0].gpus[0].resident, 183u);
  EXPECT_EQ(snapshot.clients[0].gpus[0].swapped, 7u);
  ASSERT_TRUE(snapshot.clients[0].waits);
  EXPECT_EQ(snapshot.clients[0].waits->p99, 0.02);
  ASSERT_EQ(snapshot.outside.size(), 1u);
  EXPECT_EQ(snapshot.outside[0].pid, 99);
  EXPECT_EQ(snapshot.outside[0].gpu, "GPU-1");
}

TEST(ReadDaemonStatus, OmitsTheMeanOfNoHandovers) {
  json status = Status();
  status["gpus"][0]["handover"]["count"] = 0;
  status["gpus"][0]["handover"]["mean_ms"] = 0.0;
  Snapshot snapshot;
  ReadDaemonStatus(status, true, snapshot);
  EXPECT_EQ(snapshot.gpus[0].handovers->mean_seconds, std::nullopt);
}

TEST(ReadDaemonStatus, OmitsPercentilesOfNoWaits) {
  json status = Status();
  status["clients"][0]["wait_ms"]["count"] = 0;
  Snapshot snapshot;
  ReadDaemonStatus(status, true, snapshot);
  EXPECT_FALSE(snapshot.clients[0].waits);
}

TEST(PolicyText, NamesWhatDiffersFromTheDefault) {
  EXPECT_EQ(PolicyText(json::object()), "");
  EXPECT_EQ(PolicyText({{"weight", 1.0}, {"priority", "normal"}, {"memory_limit", nullptr}}), "");
  EXPECT_EQ(PolicyText({{"class", "night"}, {"weight", 2.0}}), "class night, weight 2");
  EXPECT_EQ(PolicyText({{"weight", 0.5}, {"priority", "low"}, {"interactive", true}}),
            "interactive, low priority, weight 0.5");
  EXPECT_EQ(PolicyText({{"memory_request", kGiB}, {"memory_limit", 2 * kGiB}}),
            "1 GiB kept for it, at most 2 GiB");
}

TEST(ReadDaemonStatus, OmitsPidsOfOtherNamespaces) {
  Snapshot snapshot;
  ReadDaemonStatus(Status(), false, snapshot);
  EXPECT_EQ(snapshot.daemon->pid, 0);
  EXPECT_EQ(snapshot.clients[0].pid, 0);
  EXPECT_EQ(snapshot.outside[0].pid, 0);
  EXPECT_EQ(snapshot.clients[0].resident, 180u);
}

TEST(ReadDaemonStatus, IgnoresInvalidFields) {
  Snapshot snapshot;
  ReadDaemonStatus(json::parse("[1, 2]"), true, snapshot);
  EXPECT_FALSE(snapshot.daemon);
  ReadDaemonStatus(json::parse(R"({"gpus": [7, {"budget": "much"}], "clients": {"a": 1}})"), true,
                   snapshot);
  ASSERT_EQ(snapshot.gpus.size(), 2u);
  EXPECT_EQ(snapshot.gpus[1].budget, std::nullopt);
  EXPECT_FALSE(snapshot.gpus[1].handovers);
  EXPECT_TRUE(snapshot.clients.empty());
}

}  // namespace daemon_status_test
}  // namespace reveza::monitor
