// Tests of the built library: its dependencies and exports, and that programs behave the same with
// and without it.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/platform/testing_shell.h"

namespace preload_test {

using reveza::platform::Ran;
using reveza::platform::Shell;

constexpr char kLibrary[] = REVEZA_TEST_LIBRARY;  // libreveza.so
constexpr char kPassThrough[] =
    REVEZA_TEST_PASS_THROUGH;  // the same resolver with pass-through hooks
constexpr char kDriver[] = REVEZA_TEST_MINI_CUDA;
constexpr char kProbe[] = REVEZA_TEST_PROBE;
constexpr char kLinkedProbe[] = REVEZA_TEST_LINKED_PROBE;

// Runs `command` in the shell and captures stdout and stderr.
Ran Execute(const std::string& command, const std::string& environment = "") {
  return Shell(environment + " " + command);
}

std::string Preload(const std::string& libraries) { return "LD_PRELOAD='" + libraries + "'"; }

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// ---- the file ----

TEST(LibraryFile, NeedsOnlyTheCLibrary) {
  const Ran ran = Execute(std::string("readelf -dW ") + kLibrary);
  ASSERT_EQ(ran.status, 0) << ran.output;
  std::vector<std::string> needed;
  for (const std::string& line : Lines(ran.output)) {
    if (line.find("(NEEDED)") != std::string::npos) needed.push_back(line.substr(line.find('[')));
  }
  // The first two are part of it, and empty since glibc 2.34.
  EXPECT_EQ(needed, (std::vector<std::string>{"[libpthread.so.0]", "[libdl.so.2]", "[libc.so.6]"}));
}

TEST(LibraryFile, NeedsNoNewerCLibraryThan2_28) {
  const Ran ran = Execute(std::string("objdump -T ") + kLibrary);
  ASSERT_EQ(ran.status, 0) << ran.output;
  const std::regex version("GLIBC_([0-9]+)\\.([0-9]+)");
  int seen = 0;
  for (const std::string& line : Lines(ran.output)) {
    // The dlsym that it defines has a newer version.
    std::smatch match;
    if (!line.contains("*UND*") || !std::regex_search(line, match, version)) continue;
    EXPECT_TRUE(match[1] == "2" && std::stoi(match[2]) <= 28) << line;
    ++seen;
  }
  EXPECT_GT(seen, 10);
}

TEST(LibraryFile, ExportsOnlyWrappedCallsAndDlsym) {
#if defined(__aarch64__)
  std::set<std::string> expected{"dlsym@GLIBC_2.17", "dlsym@@GLIBC_2.34"};
#else
  std::set<std::string> expected{"dlsym@GLIBC_2.2.5", "dlsym@@GLIBC_2.34"};
#endif
  std::ifstream list(REVEZA_TEST_EXPORTED_SYMBOLS);
  for (std::string name; std::getline(list, name);) expected.insert(name);
  ASSERT_GT(expected.size(), 200u);
  const Ran ran = Execute(std::string("nm -D --defined-only --format=posix ") + kLibrary);
  ASSERT_EQ(ran.status, 0) << ran.output;
  std::set<std::string> exported;
  for (const std::string& line : Lines(ran.output)) {
    const std::string name = line.substr(0, line.find(' '));
    const bool version_node = line.find(" A ") != std::string::npos;
    if (!version_node) exported.insert(name);
  }
  EXPECT_EQ(exported, expected);
}

TEST(LibraryFile, HasNoConstructors) {
  // A single initialiser: the compiler's frame_dummy, present in every shared object.
  const Ran ran = Execute(std::string("readelf -dW ") + kLibrary);
  EXPECT_TRUE(std::regex_search(ran.output, std::regex("INIT_ARRAYSZ\\) +8 \\(bytes\\)")))
      << ran.output;
}

// ---- programs that do not use CUDA ----

struct Program {
  const char* name;
  const char* command;
};
void PrintTo(const Program& program, std::ostream* out) { *out << program.command; }

class AnyProgram : public testing::TestWithParam<Program> {};

TEST_P(AnyProgram, BehavesTheSameWithTheLibrary) {
  const char* command = GetParam().command;
  const Ran plain = Execute(command);
  EXPECT_EQ(Execute(command, "export " + Preload(kLibrary) + ";"), plain);
}

INSTANTIATE_TEST_SUITE_P(
    Preload, AnyProgram,
    testing::Values(Program{"True", "true"}, Program{"False", "false"},
                    Program{"Bash", "bash -c 'echo $((6*7)) | cat; exit 3'"},
                    Program{"ThreadsAndFiles",
                            "bash -c 'ls /proc/self/task | wc -l; ls -1 /proc/self/fd'"},
                    Program{"Git", "git --version"},
                    Program{"PythonModules",
                            "python3 -c 'import ctypes, json, ssl, subprocess; "
                            "print(subprocess.run([\"true\"]).returncode)'"},
                    Program{"PythonAsksForCuda",
                            "python3 -c 'import ctypes; c = ctypes.CDLL(None); "
                            "print(c.abs(-3), hasattr(c, \"cuInit\"), "
                            "hasattr(c, \"cuMemcpy\"))'"},
                    Program{"PythonThreadsAndFiles",
                            "python3 -c 'import os, threading; "
                            "print(threading.active_count(), "
                            "len(os.listdir(\"/proc/self/task\")), "
                            "len(os.listdir(\"/proc/self/fd\")))'"}),
    [](const auto& program) { return program.param.name; });

// ---- dlsym ----

TEST(Dlsym, OtherSymbolsResolveAsWithoutTheLibrary) {
  const Ran plain = Execute(std::string(kProbe) + " plugin " + REVEZA_TEST_PLUGIN);
  ASSERT_EQ(plain.status, 0) << plain.output;
  EXPECT_NE(plain.output.find("next layered: libreveza_test_base.so"), std::string::npos)
      << plain.output;
  EXPECT_NE(plain.output.find("default cuBaseOnly: libreveza_test_base.so"), std::string::npos)
      << plain.output;
  EXPECT_EQ(Execute(std::string(kProbe) + " plugin " + REVEZA_TEST_PLUGIN, Preload(kPassThrough)),
            plain);
  EXPECT_EQ(Execute(std::string(kProbe) + " plugin " + REVEZA_TEST_PLUGIN, Preload(kLibrary)),
            plain);
}

TEST(Dlsym, FindsNoCudaInAProgramWithoutCuda) {
  const Ran plain = Execute(std::string(kProbe) + " without");
  ASSERT_EQ(plain.status, 0);
  EXPECT_EQ(Execute(std::string(kProbe) + " without", Preload(kPassThrough)), plain);
}

constexpr char kWrapped[] =
    "cuMemcpy: libreveza_pass_through.so\ncuMemAlloc_v2: libreveza_pass_through.so\n"
    "cuMemAlloc: libcuda.so.1\ncuInit: libcuda.so.1\n"
    "cuGetProcAddress: libreveza_pass_through.so\ncopy: 0\ndriver: cuMemcpy\ngate: 1\n";
constexpr char kUnwrapped[] =
    "cuMemcpy: libcuda.so.1\ncuMemAlloc_v2: libcuda.so.1\ncuMemAlloc: libcuda.so.1\n"
    "cuInit: libcuda.so.1\ncuGetProcAddress: libcuda.so.1\ncopy: 0\ndriver: cuMemcpy\ngate: 0\n";

Ran Probe(const std::string& mode, const std::string& environment) {
  return Execute(std::string(kProbe) + " " + mode + " " + kDriver, environment);
}

TEST(Dlsym, ReturnsWrappersForAnOpenedDriver) {
  EXPECT_EQ(Probe("handle", ""), (Ran{0, kUnwrapped}));
  EXPECT_EQ(Probe("handle", Preload(kPassThrough)), (Ran{0, kWrapped}));
}

TEST(Dlsym, ReturnsWrappersForADriverOpenedWithDeepBind) {
  EXPECT_EQ(Probe("deepbind", Preload(kPassThrough)), (Ran{0, kWrapped}));
}

#ifdef REVEZA_TEST_OLD_PROBE
TEST(Dlsym, ReturnsWrappersThroughTheOlderVersion) {
  const std::string command = std::string(REVEZA_TEST_OLD_PROBE) + " handle " + kDriver;
  EXPECT_EQ(Execute(command), (Ran{0, kUnwrapped}));
  EXPECT_EQ(Execute(command, Preload(kPassThrough)), (Ran{0, kWrapped}));
}
#endif

TEST(Dlsym, ReturnsDriverFunctionsWhenDisabled) {
  EXPECT_EQ(Probe("handle", "REVEZA_DISABLE=1 " + Preload(kPassThrough)), (Ran{0, kUnwrapped}));
}

TEST(Dlsym, SurvivesForkAndExec) {
  EXPECT_EQ(Probe("fork", Preload(kPassThrough)),
            (Ran{0, std::string(kWrapped) + "child: 0\n" + kWrapped}));
}

TEST(Dlsym, WorksAfterAnotherPreloadedWrapper) {
  const std::string other = REVEZA_TEST_OTHER_PRELOAD;
  const Ran ran = Probe("handle", Preload(other + ":" + kPassThrough));
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.output.find("other saw cuMemcpy"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("cuMemcpy: libreveza_pass_through.so"), std::string::npos)
      << ran.output;
  EXPECT_NE(ran.output.find("gate: 1"), std::string::npos) << ran.output;
}

TEST(Dlsym, WorksBeforeAnotherPreloadedWrapper) {
  const std::string other = REVEZA_TEST_OTHER_PRELOAD;
  const Ran ran = Probe("handle", Preload(std::string(kPassThrough) + ":" + other));
  EXPECT_EQ(ran, (Ran{0, kWrapped}));
}

// ---- programs linked against the driver ----

std::string WithDriver(const std::string& rest) {
  const std::string driver = kDriver;
  return "LD_LIBRARY_PATH='" + driver.substr(0, driver.rfind('/')) + "' " + rest;
}

TEST(LinkedProgram, CallsWrappers) {
  const std::string command = std::string(kLinkedProbe) + " linked";
  EXPECT_EQ(Execute(command, WithDriver("")),
            (Ran{0, "copy: 0\ngate: 0\ndefault: libcuda.so.1\ndefault unwrapped: libcuda.so.1\n"}));
  EXPECT_EQ(Execute(command, WithDriver(Preload(kPassThrough))),
            (Ran{0,
                 "copy: 0\ngate: 1\ndefault: libreveza_pass_through.so\n"
                 "default unwrapped: libcuda.so.1\n"}));
  EXPECT_EQ(Execute(command, WithDriver("REVEZA_DISABLE=1 " + Preload(kPassThrough)))
                .output.substr(0, 16),
            "copy: 0\ngate: 0\n");
}

TEST(LinkedProgram, CallsWrappersThroughAnotherPreloadedLibrary) {
  const std::string other = REVEZA_TEST_OTHER_PRELOAD;
  const Ran ran = Execute(std::string(kLinkedProbe) + " linked",
                          WithDriver(Preload(other + ":" + kPassThrough)));
  EXPECT_NE(ran.output.find("other copies\n"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("copy: 0\ngate: 1\n"), std::string::npos) << ran.output;
}

}  // namespace preload_test
