// The command line of `reveza metrics`, which `reveza` describes and `reveza-metrics` parses.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace reveza::cli {

struct MetricsArguments {
  std::string listen = "127.0.0.1:9787";
  std::vector<std::string> sockets;
  bool once = false, dcgm_names = false;
};

void DeclareMetrics(CLI::App& app, MetricsArguments& arguments);

}  // namespace reveza::cli
