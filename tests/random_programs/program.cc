#include "tests/random_programs/program.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace reveza::random_programs {

const std::array<OperationInfo, 48> kOperations = {{
    {Kind::kRetainPrimary, "retain_primary", 1},
    {Kind::kReleasePrimary, "release_primary", 1},
    {Kind::kResetPrimary, "reset_primary", 1},
    {Kind::kCreateContext, "create_context", 2},
    {Kind::kDestroyContext, "destroy_context", 1},
    {Kind::kUseContext, "use_context", 1},
    {Kind::kEnablePeer, "enable_peer", 2},
    {Kind::kDisablePeer, "disable_peer", 2},
    {Kind::kCreateStream, "create_stream", 3},
    {Kind::kDestroyStream, "destroy_stream", 1},
    {Kind::kSyncStream, "sync_stream", 1},
    {Kind::kSyncContext, "sync_context", 1},
    {Kind::kCreateEvent, "create_event", 2},
    {Kind::kDestroyEvent, "destroy_event", 1},
    {Kind::kRecordEvent, "record_event", 2},
    {Kind::kWaitEvent, "wait_event", 2},
    {Kind::kSyncEvent, "sync_event", 1},
    {Kind::kAlloc, "alloc", 3},
    {Kind::kAllocHost, "alloc_host", 3},
    {Kind::kAllocManaged, "alloc_managed", 3},
    {Kind::kAllocAsync, "alloc_async", 3},
    {Kind::kCreateHandle, "create_handle", 4},
    {Kind::kExport, "export", 2},
    {Kind::kRetainHandle, "retain_handle", 1},
    {Kind::kMoveMapping, "move_mapping", 1},
    {Kind::kShareAccess, "share_access", 1},
    {Kind::kFree, "free", 1},
    {Kind::kFreeAsync, "free_async", 2},
    {Kind::kQuery, "query", 1},
    {Kind::kMemoryInfo, "memory_info", 1},
    {Kind::kBadCall, "bad_call", 2},
    {Kind::kMemset, "memset", 4},
    {Kind::kFill, "fill", 3},
    {Kind::kAdd, "add", 3},
    {Kind::kStep, "step", 3},
    {Kind::kCopy, "copy", 3},
    {Kind::kCopyKernel, "copy_kernel", 3},
    {Kind::kSpin, "spin", 2},
    {Kind::kHostCall, "host_call", 2},
    {Kind::kHold, "hold", 1},
    {Kind::kRelease, "release", 0},
    {Kind::kBeginCapture, "begin_capture", 2},
    {Kind::kForkCapture, "fork_capture", 2},
    {Kind::kEndCapture, "end_capture", 2},
    {Kind::kLaunchGraph, "launch_graph", 2},
    {Kind::kDestroyGraph, "destroy_graph", 1},
    {Kind::kCheck, "check", 0},
    {Kind::kForkProcess, "fork_process", 0},
}};

namespace {

constexpr std::array<std::string_view, 3> kResolveNames = {"proc", "dlsym", "per-thread"};

const OperationInfo& InfoOf(Kind kind) { return kOperations[static_cast<std::size_t>(kind)]; }

// Reads the line "KEY VALUE" of a program's head. Returns false if it is none.
bool ParseHead(const std::string& key, std::istringstream& line, Program& program) {
  std::string value;
  line >> value;
  const auto number = value.size() == 1 ? value[0] - '0' : 0;
  if (key == "devices" && number >= 1 && number <= kMaxDevices) {
    program.devices = number;
  } else if (key == "threads" && number >= 1 && number <= kMaxThreads) {
    program.threads = number;
  } else if (key == "mode" && (value == "serial" || value == "parallel")) {
    program.serial = value == "serial";
  } else if (const auto* name = std::ranges::find(kResolveNames, value);
             key == "resolve" && name != kResolveNames.end()) {
    program.resolve = static_cast<Resolve>(name - kResolveNames.begin());
  } else {
    return false;
  }
  return true;
}

// Reads the rest of the line of an operation of `thread`.
bool ParseOperation(const std::string& thread, std::istringstream& line, Program& program) {
  Operation operation;
  std::string name;
  line >> name;
  const auto* info = std::ranges::find(kOperations, name, &OperationInfo::name);
  if (thread.size() != 1 || info == kOperations.end()) return false;
  operation.thread = thread[0] - '0';
  operation.kind = info->kind;
  for (int i = 0; i < info->arguments; ++i) {
    int& argument = operation.arguments[static_cast<std::size_t>(i)];
    if (!(line >> argument) || argument < 0) return false;
  }
  if (operation.thread < 0 || operation.thread >= program.threads) return false;
  program.operations.push_back(operation);
  return true;
}

}  // namespace

std::string ToText(const Operation& operation) {
  const OperationInfo& info = InfoOf(operation.kind);
  std::string text = std::to_string(operation.thread) + " " + std::string(info.name);
  for (int i = 0; i < info.arguments; ++i) {
    text += " " + std::to_string(operation.arguments[static_cast<std::size_t>(i)]);
  }
  return text;
}

std::string ToText(const Program& program) {
  std::string text = "devices " + std::to_string(program.devices) + "\nthreads " +
                     std::to_string(program.threads) + "\nmode " +
                     (program.serial ? "serial" : "parallel") + "\nresolve " +
                     std::string(kResolveNames[static_cast<std::size_t>(program.resolve)]) + "\n";
  for (const Operation& operation : program.operations) text += ToText(operation) + "\n";
  return text;
}

Result<Program> ParseProgram(std::string_view text) {
  Program program;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string first;
    if (!(words >> first) || first[0] == '#') continue;
    const bool is_operation = std::isdigit(static_cast<unsigned char>(first[0])) != 0;
    if (is_operation ? !ParseOperation(first, words, program) : !ParseHead(first, words, program)) {
      return InvalidArgument("line " + std::to_string(number) + ": '" + line + "'");
    }
  }
  return program;
}

}  // namespace reveza::random_programs
