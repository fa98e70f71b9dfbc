// The commands of `fraudgen`. Each takes a validated command line and returns an exit status.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/cli/exit_status.h"
#include "fraudgen/check/check.h"
#include "fraudgen/model/model.h"
#include "fraudgen/output/destination.h"
#include "fraudgen/output/store_address.h"
#include "fraudgen/run/plan.h"
#include "fraudgen/run/settings.h"

namespace reveza::fraudgen::cli {

// Resolved once by main.cc from the command line, the configuration file and defaults; not modified
// afterwards.
struct RunArguments {
  Settings settings;
  std::string output = "output";  // folder, bucket URL, or - for standard output
  StoreFlags store;
  bool date_partition = false;  // append YYYY/MM/DD of the last day to a bucket's prefix
  std::string table;            // for standard output; empty: Settings::MainTable
  bool has_format = false;      // the format was given on the command line
  Shard shard;
  int threads = 1;
  bool quiet = false;
  bool json = false;
};

// Options of `fraudgen stream` beside those of the data.
struct StreamArguments {
  std::string target;
  std::string rate;
  std::string pace;
  std::optional<int64_t> max_events;
  bool pretty = false;
  std::string key = "customer";  // ordering key: customer, event or none
  std::string kafka_server = "localhost:9092";
  std::string kafka_topic;                 // empty: the table's name
  std::vector<std::string> kafka_options;  // NAME=VALUE
  std::string webhook_url;
  std::string webhook_method = "POST";
  int64_t webhook_batch = 1;
  std::vector<std::string> webhook_headers;  // "Name: value"
  std::string defects_key;                   // file for the answer key of --defects
};

// Options of `fraudgen bench`. Empty: the default of the Python package.
struct BenchArguments {
  std::vector<std::string> places;
  std::string mapping;
  std::string against;
  std::string against_mapping;
  std::string sample;
  std::string memory;
};

int Generate(const RunArguments& arguments);
int Stream(const RunArguments& arguments, const StreamArguments& stream);
int ShowPlan(const RunArguments& arguments);
int ShowSample(const RunArguments& arguments);
int ShowConfiguration(const RunArguments& arguments);
// Prints rules for data of unknown origin as SQL.
int ShowSqlRules(const RunArguments& arguments);
// Prints one line per check to standard output, and the differences.
int CheckData(const RunArguments& arguments, const std::string& place);
// Passes the result to `print` instead.
using OnChecked = std::function<void(const check::CheckResult&)>;
int CheckData(const RunArguments& arguments, const std::string& place, const OnChecked& print);
// Writes a report about the data set at `place` to arguments.output.
int WriteReport(const RunArguments& arguments, const std::string& place,
                const std::string& language);
// Becomes the Python package that measures data sets; returns only if Python cannot be started.
int Bench(const RunArguments& arguments, const BenchArguments& bench);
// Generates, checks, queries and plots a temporary data set. Only the report remains, at
// arguments.output.
int Demo(const RunArguments& arguments);
// Returns the table of that name, or the main one if it is empty; nullptr after reporting an error.
const Table* FindTable(const Model& model, const RunArguments& arguments);
// Calls `use` with the folder or bucket at `place`. Returns its status, or that of a reported
// error.
int WithPlace(const RunArguments& arguments, const std::string& place,
              const std::function<int(const std::shared_ptr<Destination>&)>& use);
// Calls `use` with the bucket at `address`. Returns its status, or that of a reported error.
int WithBucket(const Result<StoreAddress>& address,
               const std::function<int(const std::shared_ptr<Destination>&)>& use);
int ShowSchema();
// Lists the built-in scenarios, or prints the one of that name.
int ShowScenarios(const std::string& name);
int ShowVersion();

// Exit statuses; see docs/errors.md.
inline constexpr ExitStatus kFindings{1};       // `check`: the data set has errors
inline constexpr ExitStatus kUnreadable{2};     // `check`: no readable data set
inline constexpr ExitStatus kConfiguration{3};  // invalid or unreadable configuration file
inline constexpr ExitStatus kMissing{11};       // `bench`: no Python, or not its packages

// Writes to standard error, ignoring write errors.
inline void PrintToStderr(const std::string& text) { std::fputs(text.c_str(), stderr); }

// Prints one line to standard error and returns `status`.
inline int ReportError(ExitStatus status, std::string_view message) {
  return PrintError("fraudgen", status, message);
}

// Returns the exit status after a signal.
inline ExitStatus StatusOfSignal(int signal) {
  return signal == SIGTERM ? kTerminated : kInterrupted;
}

inline int ReportError(const Error& error) {
  return ReportError(StatusOf(error.code), error.message);
}

}  // namespace reveza::fraudgen::cli
