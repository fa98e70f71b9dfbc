#include "reveza/cli/reveza/commands.h"

#include <gtest/gtest.h>

#include <sstream>

#include "common/base/bytes.h"

namespace reveza::cli {
namespace commands_test {

using nlohmann::json;

TEST(Shorten, MarksTruncation) {
  EXPECT_EQ(Shorten("train.py", 8), "train.py");
  EXPECT_EQ(Shorten("training.py", 8), "train...");
  EXPECT_EQ(Shorten("abc", 2), "ab");
}

TEST(StatusText, IsAtMost96ColumnsWide) {
  const json client = {
      {"pid", 1234567},
      {"name", "a-rather-long-name-of-a-program"},
      {"state", "running"},
      {"why", ""},
      {"footprint",
       {{"resident", 123 * kGiB}, {"swapped", kGiB / 3}, {"pinned", 7}, {"context", 612 * kMiB}}},
      {"share_wanted", 0.5},
      {"share_got", 0.42},
      {"policy",
       {{"weight", 2.0},
        {"priority", "low"},
        {"interactive", true},
        {"memory_request", 4 * kGiB},
        {"memory_limit", 12 * kGiB}}},
      {"turns", 17}};
  json waiting = client;
  waiting["state"] = "waiting";
  waiting["why"] = "waiting for its turn";
  waiting["on_host"] = {{"bytes", 1023 * kGiB}, {"hot", 1023 * kMiB}, {"fits", false},
                        {"pass_ms", 1234.5},    {"promoted", 0},      {"demoted", 0}};
  const json status = {
      {"version", "0.1.0"},
      {"pid", 99},
      {"uptime_s", 3725.0},
      {"host", {{"budget", 64 * kGiB}, {"reserved", kGiB}}},
      {"gpus",
       {{{"index", 0},
         {"name", "NVIDIA H100 80GB HBM3"},
         {"budget", 80 * kGiB},
         {"resident", 40 * kGiB},
         {"swapped", 12 * kGiB},
         {"external", 10 * kGiB},
         {"outside", {{{"pid", 5}, {"bytes", kGiB}, {"command", "python other.py"}}}},
         {"handover", {{"count", 3}, {"mean_ms", 297.0}, {"gb_per_s", 86.8}}}}}},
      {"clients", {client, waiting}}};
  const std::string text = StatusText(status);
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 96u) << line;
  for (const char* part : {"1 h 2 min", "40 GiB of 80 GiB", "handovers: 3, 297 ms each", "pid 5",
                           "waiting for its turn", "50%", "42%",
                           "interactive, low priority, weight 2, 4 GiB kept for it",
                           "at most 12 GiB", "in host memory, at its place",
                           "1023 MiB of it changes all the time and does not fit on the card: 1234 "
                           "ms for each pass"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(StatusText, ReportsNoPrograms) {
  EXPECT_NE(StatusText(json::object()).find("no programs"), std::string::npos);
}

}  // namespace commands_test
}  // namespace reveza::cli
