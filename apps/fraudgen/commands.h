// What `fraudgen` does, once its command line is read. Each returns an exit status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datagen/output/store_address.h"
#include "datagen/run/plan.h"
#include "datagen/run/settings.h"

namespace reveza::fraudgen {

struct RunArguments {
  datagen::Settings settings;
  std::string output = "output";  // a folder, an address of a bucket, or -
  datagen::StoreFlags store;
  bool date_partition = true;  // in a bucket the last day stands behind the prefix
  std::string table;  // the one that goes to standard output; empty: that of the payments or rides
  datagen::Shard shard;
  int threads = 1;
  bool quiet = false;
  bool json = false;
};

// Of `fraudgen stream`, beside those of the data.
struct StreamArguments {
  std::string target;
  std::string rate;
  std::string pace;
  std::optional<int64_t> max_events;
  bool pretty = false;
  std::string key = "customer";  // whose events stay in order: customer, event or none
  std::string kafka_server = "localhost:9092";
  std::string kafka_topic;                 // empty: as the table is called
  std::vector<std::string> kafka_options;  // name=value
  std::string webhook_url;
  std::string webhook_method = "POST";
  int64_t webhook_batch = 1;
  std::vector<std::string> webhook_headers;  // "Name: value"
  std::string defects_key;                   // a file for the answer key of --defects
  bool says_how_much = false;                // rows or a size, in the settings
};

int Generate(const RunArguments& arguments);
int Stream(const RunArguments& arguments, const StreamArguments& stream);
int ShowPlan(const RunArguments& arguments);
int ShowSample(const RunArguments& arguments);
int ShowConfiguration(const RunArguments& arguments);
// One line a check on standard output.
int CheckData(const RunArguments& arguments, const std::string& place);
// One page about the data set in the folder, at arguments.output.
int WriteReport(const RunArguments& arguments, const std::string& folder,
                const std::string& language);
// Makes, checks, asks and draws a data set that goes away again; its page stays, at
// arguments.output.
int Demo(const RunArguments& arguments);
int ShowSchema();
int ShowVersion();

}  // namespace reveza::fraudgen
