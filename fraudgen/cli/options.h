// The options and commands of `fraudgen`, which are its help, its completion and its man page.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/cli/completion.h"
#include "fraudgen/cli/commands.h"

namespace reveza::fraudgen::cli {

// The command line as typed.
struct CommandLine {
  std::map<std::string_view, std::string> settings;  // by key
  std::vector<std::string> scenarios;                // files
  std::string scenario;                              // the name of the one to print
  std::string config, shard, output, table, checked, reported, language = "en";
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool quiet = false, json = false, sql = false, date_partition = false, no_date_partition = false;
  StoreFlags store;
  StreamArguments stream;
  BenchArguments bench;
};

// Declares everything; `app` stores the values in `typed`.
void AddAll(CLI::App& app, CommandLine& typed);

// Returns whether a command takes an option, given by its first long name, of `fraudgen` itself.
bool Accepts(std::string_view command, std::string_view option);

// What `fraudgen` can complete beyond its options: tables, defects, partition keys, methods.
command_line::CompletionSource CompletionValues();

}  // namespace reveza::fraudgen::cli
