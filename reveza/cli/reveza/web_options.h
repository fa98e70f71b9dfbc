// The command line of `reveza web`, which `reveza` describes and `reveza-web` parses.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace reveza::cli {

struct WebArguments {
  std::string listen = "127.0.0.1:9788";
  std::string certificate;
  std::string key;
  std::string socket;
};

void DeclareWeb(CLI::App& app, WebArguments& arguments);

}  // namespace reveza::cli
