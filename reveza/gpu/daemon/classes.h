// Classes of the configuration: what programs are entitled to that do not say it themselves.
//
//   [[class]]
//   name = "notebooks"
//   command = "*jupyter*"     # patterns as in a shell; what is left out matches all
//   user = "ana"
//   group = "students"
//   cgroup = "/user.slice/*"
//   interactive = true        # weight, priority, memory = "REQUEST[:LIMIT]"
//
// The first class that matches counts. And quotas: what all programs of one user may have together,
// whatever they ask for.
//
//   [[quota]]
//   group = "students"        # or user = "ana"
//   memory = "20GiB"          # of each GPU
//   weight = 0.5              # GPU time, divided among the programs of the user that compete
//
// The first quota that matches a user counts. Thread-safe: free functions on values, and queries of
// the system.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza {
struct Node;  // common/settings/document.h
}  // namespace reveza

namespace reveza::daemon {

struct PolicyClass {
  std::string name;
  std::string command = "*";
  std::string user = "*";
  std::string group = "*";
  std::string cgroup = "*";
  scheduler::Policy policy;
  std::string origin;  // "config.toml:7"
};

struct QuotaRule {
  std::string user = "*";
  std::string group = "*";
  scheduler::Quota quota;
  std::string origin;  // "config.toml:7"
};

// What classes and quotas ask of a process beside its command.
struct Identity {
  std::string user;
  std::vector<std::string> groups;
  std::string cgroup;
};

// Returns names for numbers that have none; an empty cgroup if it cannot be read.
Identity IdentityOf(pid_t pid, uid_t uid);

// Reads the tables `class` of a document. kInvalidArgument messages begin with "name:line:column:
// ".
Result<std::vector<PolicyClass>> ParseClasses(const Node& root, std::string_view name);

// Reads the tables `quota`, as ParseClasses().
Result<std::vector<QuotaRule>> ParseQuotas(const Node& root, std::string_view name);

// Return null if none matches.
const PolicyClass* FindClass(std::span<const PolicyClass> classes, const std::string& command,
                             const Identity& identity);
const QuotaRule* FindQuota(std::span<const QuotaRule> quotas, const Identity& identity);

}  // namespace reveza::daemon
