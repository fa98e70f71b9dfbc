// `fraudgen bench PLACE...`: starts the Python package fraudgen.bench, which measures data sets.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/base/exec_arguments.h"
#include "common/platform/runtime_paths.h"
#include "fraudgen/cli/commands.h"

namespace reveza::fraudgen::cli {
namespace {

namespace fs = std::filesystem;

// Says what is missing, and does not import from the working directory, which may hold anything.
constexpr const char* kScript = R"(
import sys
sys.path[:] = [place for place in sys.path if place]
if sys.version_info < (3, 10):
    sys.exit(print(f"fraudgen: bench needs Python 3.10 or later; {sys.executable} is "
                   f"{sys.version.split()[0]}", file=sys.stderr) or 11)
try:
    from fraudgen.bench.__main__ import main
except ImportError as error:
    sys.exit(print(f"fraudgen: bench needs the Python package fraudgen[bench] ({error}); run: "
                   f"{sys.executable} -m pip install 'fraudgen[bench]'", file=sys.stderr) or 11)
sys.exit(main())
)";

// Returns the interpreter named by FRAUDGEN_PYTHON, that of the environment into which pip
// installed this program, or that of PATH.
std::string Interpreter() {
  if (const char* chosen = getenv("FRAUDGEN_PYTHON"); chosen != nullptr && *chosen != '\0') {
    return chosen;
  }
  const fs::path beside = platform::ProgramFolder() / "python3";
  std::error_code ignored;
  return fs::exists(beside, ignored) ? beside.string() : "python3";
}

// Lets Python find the package of a build tree or of `make install`. An environment of pip has it
// where Python looks anyway.
void AddPackageFolder() {
  const fs::path prefix = platform::ProgramFolder().parent_path();
  for (const char* folder : {"lib/python", "lib/reveza/python"}) {
    std::error_code ignored;
    if (!fs::exists(prefix / folder / "fraudgen/bench", ignored)) continue;
    std::string path = (prefix / folder).string();
    if (const char* before = getenv("PYTHONPATH"); before != nullptr && *before != '\0') {
      path += fmt::format(":{}", before);
    }
    setenv("PYTHONPATH", path.c_str(), 1);
    return;
  }
}

std::vector<std::string> CommandOf(const RunArguments& arguments, const BenchArguments& bench) {
  std::vector<std::string> words = {Interpreter(), "-c",
                                    kScript,       "--output=" + arguments.output,
                                    "--seed",      fmt::to_string(arguments.settings.seed),
                                    "--threads",   fmt::to_string(arguments.threads)};
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) words.push_back(fmt::format("{}={}", option, value));
  };
  add("--mapping", bench.mapping);
  add("--against", bench.against);
  add("--against-mapping", bench.against_mapping);
  add("--sample", bench.sample);
  add("--memory", bench.memory);
  if (arguments.quiet) words.emplace_back("--quiet");
  if (arguments.json) words.emplace_back("--json");
  words.emplace_back("--");
  words.insert(words.end(), bench.places.begin(), bench.places.end());
  return words;
}

}  // namespace

int Bench(const RunArguments& arguments, const BenchArguments& bench) {
  AddPackageFolder();
  const std::vector<std::string> words = CommandOf(arguments, bench);
  const std::vector<char*> pointers = ExecArguments(words);
  execvp(pointers[0], pointers.data());
  return ReportError(kMissing,
                     fmt::format("bench needs Python 3.10 or later, but {} cannot be run ({}); "
                                 "install python3, or set FRAUDGEN_PYTHON",
                                 words.front(), std::strerror(errno)));
}

}  // namespace reveza::fraudgen::cli
