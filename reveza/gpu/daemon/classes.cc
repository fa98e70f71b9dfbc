#include "reveza/gpu/daemon/classes.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "common/base/nearest.h"
#include "common/base/units.h"
#include "common/platform/cgroup.h"
#include "common/settings/document.h"
#include "reveza/gpu/scheduler/policy_text.h"

namespace reveza::daemon {
namespace {

using Kind = Node::Kind;

Status ReadWeight(PolicyClass& to, std::string_view text) {
  ASSIGN_OR_RETURN(to.policy.weight, scheduler::ParseWeight(text));
  return {};
}
Status ReadPriority(PolicyClass& to, std::string_view text) {
  ASSIGN_OR_RETURN(to.policy.priority, scheduler::ParsePriority(text));
  return {};
}
Status ReadInteractive(PolicyClass& to, std::string_view text) {
  ASSIGN_OR_RETURN(to.policy.interactive, scheduler::ParseInteractive(text));
  return {};
}
Status ReadMemory(PolicyClass& to, std::string_view text) {
  return scheduler::ParseMemory(text, to.policy);
}

Status ReadQuotaWeight(QuotaRule& to, std::string_view text) {
  ASSIGN_OR_RETURN(to.quota.weight, scheduler::ParseWeight(text));
  return {};
}
Status ReadQuotaMemory(QuotaRule& to, std::string_view text) {
  ASSIGN_OR_RETURN(to.quota.limit, ParseBytes(text));
  return {};
}

template <typename Entry, auto kMember>
Status ReadText(Entry& to, std::string_view text) {
  to.*kMember = text;
  return {};
}

template <typename Entry>
struct Key {
  std::string_view name;
  Status (*read)(Entry& to, std::string_view text);
};
constexpr auto kClassKeys = std::to_array<Key<PolicyClass>>({
    {"name", ReadText<PolicyClass, &PolicyClass::name>},
    {"command", ReadText<PolicyClass, &PolicyClass::command>},
    {"user", ReadText<PolicyClass, &PolicyClass::user>},
    {"group", ReadText<PolicyClass, &PolicyClass::group>},
    {"cgroup", ReadText<PolicyClass, &PolicyClass::cgroup>},
    {"weight", ReadWeight},
    {"priority", ReadPriority},
    {"interactive", ReadInteractive},
    {"memory", ReadMemory},
});

constexpr auto kQuotaKeys = std::to_array<Key<QuotaRule>>({
    {"user", ReadText<QuotaRule, &QuotaRule::user>},
    {"group", ReadText<QuotaRule, &QuotaRule::group>},
    {"weight", ReadQuotaWeight},
    {"memory", ReadQuotaMemory},
});

template <typename Entry>
Result<Entry> ParseEntry(const Node& table, std::string_view name,
                         std::span<const Key<Entry>> keys) {
  Entry parsed;
  parsed.origin = fmt::format("{}:{}", name, table.location.line);
  for (const Member& member : table.members) {
    const auto key = std::ranges::find(keys, member.key, &Key<Entry>::name);
    if (key == keys.end()) {
      std::vector<std::string_view> names;
      for (const Key<Entry>& known : keys) names.push_back(known.name);
      return ErrorAt(name, member.location,
                     fmt::format("unknown key '{}'{}; known are {}", member.key,
                                 DidYouMean(member.key, names), fmt::join(names, ", ")));
    }
    const Kind kind = member.value.kind;
    if (kind == Kind::kArray || kind == Kind::kTable || kind == Kind::kOther) {
      return ErrorAt(name, member.location, fmt::format("{} must be a single value", member.key));
    }
    if (const auto read = key->read(parsed, member.value.text); !read) {
      return ErrorAt(name, member.location,
                     fmt::format("{}: {}", member.key, read.error().message));
    }
  }
  return parsed;
}

// Reads the tables `array` of the document. `missing` returns what an entry lacks, or "".
template <typename Entry>
Result<std::vector<Entry>> ParseEntries(const Node& root, std::string_view name,
                                        std::string_view array, std::span<const Key<Entry>> keys,
                                        std::string_view (*missing)(const Entry&)) {
  std::vector<Entry> entries;
  for (const Member& member : root.members) {
    if (member.key != array) continue;
    for (const Node& table : member.value.items) {
      if (table.kind != Kind::kTable) break;
      ASSIGN_OR_RETURN(Entry parsed, ParseEntry(table, name, keys));
      if (const std::string_view what = missing(parsed); !what.empty()) {
        return ErrorAt(name, table.location, fmt::format("a {} must have {}", array, what));
      }
      entries.push_back(std::move(parsed));
    }
    if (entries.size() != member.value.items.size() || entries.empty()) {
      return ErrorAt(name, member.location,
                     fmt::format("{} must be an array of tables; write [[{}]]", array, array));
    }
  }
  return entries;
}

bool Matches(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// Returns whether the user and one of the user's groups match.
template <typename Entry>
bool MatchesUser(const Entry& entry, const Identity& identity) {
  const bool in_group =
      entry.group == "*" || std::ranges::any_of(identity.groups, [&](const std::string& group) {
        return Matches(entry.group, group);
      });
  return in_group && Matches(entry.user, identity.user);
}

std::string GroupName(gid_t group) {
  const struct group* const entry = getgrgid(group);
  return entry != nullptr ? entry->gr_name : fmt::format("{}", group);
}

}  // namespace

Identity IdentityOf(pid_t pid, uid_t uid) {
  Identity identity;
  const passwd* const entry = getpwuid(uid);
  identity.user = entry != nullptr ? entry->pw_name : fmt::format("{}", uid);
  if (entry != nullptr) {
    int count = 256;
    std::vector<gid_t> groups(static_cast<std::size_t>(count));
    if (getgrouplist(identity.user.c_str(), entry->pw_gid, groups.data(), &count) >= 0) {
      groups.resize(static_cast<std::size_t>(count));
      for (const gid_t group : groups) identity.groups.push_back(GroupName(group));
    }
  }
  if (const auto place = platform::FindCgroup("memory", pid)) {
    identity.cgroup = (std::filesystem::path("/") / place->group).string();
  }
  return identity;
}

Result<std::vector<PolicyClass>> ParseClasses(const Node& root, std::string_view name) {
  return ParseEntries<PolicyClass>(root, name, "class", kClassKeys, [](const PolicyClass& one) {
    return one.name.empty() ? std::string_view("a name") : "";
  });
}

Result<std::vector<QuotaRule>> ParseQuotas(const Node& root, std::string_view name) {
  return ParseEntries<QuotaRule>(root, name, "quota", kQuotaKeys, [](const QuotaRule& one) {
    return one.quota == scheduler::Quota{} ? std::string_view("memory or weight") : "";
  });
}

const PolicyClass* FindClass(std::span<const PolicyClass> classes, const std::string& command,
                             const Identity& identity) {
  const auto found = std::ranges::find_if(classes, [&](const PolicyClass& one) {
    return MatchesUser(one, identity) && Matches(one.command, command) &&
           Matches(one.cgroup, identity.cgroup);
  });
  return found == classes.end() ? nullptr : &*found;
}

const QuotaRule* FindQuota(std::span<const QuotaRule> quotas, const Identity& identity) {
  const auto found = std::ranges::find_if(
      quotas, [&](const QuotaRule& one) { return MatchesUser(one, identity); });
  return found == quotas.end() ? nullptr : &*found;
}

}  // namespace reveza::daemon
