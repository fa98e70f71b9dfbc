#include "reveza/gpu/daemon/classes.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <array>

#include "common/base/nearest.h"
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

template <auto kMember>
Status ReadText(PolicyClass& to, std::string_view text) {
  to.*kMember = text;
  return {};
}

struct Key {
  std::string_view name;
  Status (*read)(PolicyClass& to, std::string_view text);
};
constexpr auto kKeys = std::to_array<Key>({
    {"name", ReadText<&PolicyClass::name>},
    {"command", ReadText<&PolicyClass::command>},
    {"user", ReadText<&PolicyClass::user>},
    {"group", ReadText<&PolicyClass::group>},
    {"cgroup", ReadText<&PolicyClass::cgroup>},
    {"weight", ReadWeight},
    {"priority", ReadPriority},
    {"interactive", ReadInteractive},
    {"memory", ReadMemory},
});

Result<PolicyClass> ParseClass(const Node& table, std::string_view name) {
  PolicyClass parsed;
  parsed.origin = fmt::format("{}:{}", name, table.location.line);
  for (const Member& member : table.members) {
    const auto key = std::ranges::find(kKeys, member.key, &Key::name);
    if (key == kKeys.end()) {
      std::vector<std::string_view> names;
      for (const Key& known : kKeys) names.push_back(known.name);
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
  if (parsed.name.empty()) return ErrorAt(name, table.location, "a class must have a name");
  return parsed;
}

bool Matches(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
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
    identity.cgroup = "/" + place->group.string();
  }
  return identity;
}

Result<std::vector<PolicyClass>> ParseClasses(const Node& root, std::string_view name) {
  std::vector<PolicyClass> classes;
  for (const Member& member : root.members) {
    if (member.key != "class") continue;
    for (const Node& table : member.value.items) {
      if (table.kind != Kind::kTable) break;
      ASSIGN_OR_RETURN(PolicyClass parsed, ParseClass(table, name));
      classes.push_back(std::move(parsed));
    }
    if (classes.size() != member.value.items.size() || classes.empty()) {
      return ErrorAt(name, member.location, "class must be an array of tables; write [[class]]");
    }
  }
  return classes;
}

const PolicyClass* FindClass(std::span<const PolicyClass> classes, const std::string& command,
                             const Identity& identity) {
  const auto found = std::ranges::find_if(classes, [&](const PolicyClass& one) {
    const bool in_group =
        one.group == "*" || std::ranges::any_of(identity.groups, [&](const std::string& group) {
          return Matches(one.group, group);
        });
    return in_group && Matches(one.command, command) && Matches(one.user, identity.user) &&
           Matches(one.cgroup, identity.cgroup);
  });
  return found == classes.end() ? nullptr : &*found;
}

}  // namespace reveza::daemon
