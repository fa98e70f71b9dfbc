// The table of a snapshot: jobs, their steps, programs under Reveza and others on a GPU, ordered,
// filtered, as a tree or flat. Pure functions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "monitor/snapshot.h"

namespace reveza::monitor {

enum class RowKind { kJob, kStep, kClient, kOutside };
std::string_view ToText(RowKind kind);

struct Row {
  RowKind kind = RowKind::kJob;
  int depth = 0;       // 0 for all when flat
  std::string key;     // the same in each snapshot: what a selection holds on to
  std::string job;     // id of the job that it is, or belongs to; empty: none
  std::string socket;  // of that job
  pid_t pid = 0;       // 0: not known here
  std::string name;
  std::string state;
  std::optional<double> cpu;  // cores
  std::optional<Bytes> memory;
  std::optional<Bytes> peak;
  std::optional<Bytes> claim;
  std::optional<std::uint64_t> threads;
  std::optional<Bytes> gpu;  // GPU memory on the card
  std::optional<Bytes> swapped;
  std::optional<double> share;
  std::optional<std::uint64_t> turns;
  std::optional<double> waited_seconds;
  std::string command;
  std::vector<std::string> details;  // sentences below it: progress, why it waits
};

enum class Column {
  kOrder,
  kPid,
  kName,
  kState,
  kCpu,
  kMemory,
  kPeak,
  kClaim,
  kThreads,
  kGpu,
  kSwapped
};
inline constexpr int kColumns = 11;
std::string_view ToText(Column column);

struct Arrangement {
  Column sort = Column::kOrder;  // kOrder: as they came, jobs first
  bool reverse = false;          // else: largest numbers first, names from a to z
  bool tree = true;
  std::string filter;  // a part of name, state, command or pid, in any case; empty: all
};

// What is not available comes last, whichever way. In a tree, siblings are ordered among each
// other, and what fits the filter keeps those above it.
std::vector<Row> Rows(const Snapshot& snapshot, const Arrangement& arrangement);

}  // namespace reveza::monitor
