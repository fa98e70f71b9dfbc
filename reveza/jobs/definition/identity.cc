#include "reveza/jobs/definition/identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "common/base/unique_fd.h"
#include "common/platform/text_file.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/supervisor/child.h"

namespace reveza::jobs {
namespace {

Identity From(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  static_assert(sizeof(canonical.digest) == std::tuple_size_v<Identity>);
  Identity identity;
  std::ranges::copy(canonical.digest, identity.begin());
  return identity;
}

// Serialises fields unambiguously: each is prefixed by its length.
class FieldHasher {
 public:
  void Add(std::string_view field) {
    Add(static_cast<std::uint64_t>(field.size()));
    bytes_ += field;
  }
  void Add(std::uint64_t number) {
    std::array<char, sizeof(number)> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (8 * i));
    bytes_.append(bytes.data(), bytes.size());
  }
  void Add(const Identity& identity) {
    bytes_.append(reinterpret_cast<const char*>(identity.data()), identity.size());
  }
  void Clear() { bytes_.clear(); }
  Identity Hash() const { return From(XXH3_128bits(bytes_.data(), bytes_.size())); }

 private:
  std::string bytes_;
};

void AddCommand(FieldHasher& fields, const Command& command) {
  fields.Add(std::uint64_t{command.shell});
  fields.Add(static_cast<std::uint64_t>(command.arguments.size()));
  for (const std::string& argument : command.arguments) fields.Add(argument);
  fields.Add(command.folder.native());
}

// Hashes what all steps of a command share.
Identity HashOf(const Command& command, const platform::Environment& environment) {
  FieldHasher fields;
  fields.Add("reveza step 1");
  AddCommand(fields, command);
  auto set = command.environment;
  // Names are unique, so sorting makes the order irrelevant.
  std::ranges::sort(set);
  fields.Add(static_cast<std::uint64_t>(set.size()));
  for (const auto& [name, value] : set) {
    fields.Add(name);
    fields.Add(value);
  }
  auto named = command.identity_variables;
  std::ranges::sort(named);
  const auto repeated = std::ranges::unique(named);
  named.erase(repeated.begin(), repeated.end());
  fields.Add(static_cast<std::uint64_t>(named.size()));
  for (const std::string& name : named) {
    const auto value = environment(name.c_str());
    fields.Add(name);
    fields.Add(std::uint64_t{value.has_value()});
    fields.Add(value.value_or(""));
  }
  return fields.Hash();
}

void AddParameters(FieldHasher& fields, const Step& step, std::vector<ParameterView>& sorted) {
  sorted.assign(step.parameters.begin(), step.parameters.end());
  std::ranges::sort(sorted, {}, &ParameterView::name);
  fields.Add(static_cast<std::uint64_t>(sorted.size()));
  for (const auto& [name, value] : sorted) {
    fields.Add(name);
    fields.Add(value);
  }
}

// Counts how often each of a known number of identities was added. Takes eight bytes for each, as a
// job may have a million steps and hardly ever equal ones.
class IdentityCounter {
 public:
  // `all`: in which identities will be added in order; outlives the counter.
  IdentityCounter(const std::vector<Identity>& all, std::size_t count)
      : all_(all), slots_(std::bit_ceil(2 * count + 1), kFree) {}

  // Adds the last identity of `all`. Returns how often it was added before.
  std::uint64_t AddLast() {
    const Identity& identity = all_.back();
    // An identity is already a hash.
    std::size_t slot = 0;
    std::memcpy(&slot, identity.data() + identity.size() - sizeof(slot), sizeof(slot));
    for (slot &= slots_.size() - 1; slots_[slot] != kFree;
         slot = (slot + 1) & (slots_.size() - 1)) {
      if (all_[slots_[slot]] == identity) return ++repeated_[slots_[slot]];
    }
    slots_[slot] = static_cast<std::uint32_t>(all_.size() - 1);
    return 0;
  }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};

  const std::vector<Identity>& all_;
  std::vector<std::uint32_t> slots_;                           // indices of distinct ones
  std::unordered_map<std::uint32_t, std::uint64_t> repeated_;  // by index of the first
};

Status AddInputs(FieldHasher& fields, const Expander& expander, const Step& step,
                 std::size_t number, FileHashCache& files) {
  ASSIGN_OR_RETURN(const auto inputs, expander.Inputs(step));
  fields.Add(static_cast<std::uint64_t>(inputs.size()));
  for (const auto& path : inputs) {
    const auto content = files.Hash(path);
    if (!content) {
      const bool later = content.error().code == Error::Code::kNotFound && !step.after.empty();
      return Fail(content.error().code, "step {}: input: {}{}", number, content.error().message,
                  later ? " (inputs are read before the first step starts; omit files that earlier "
                          "steps create)"
                        : "");
    }
    fields.Add(*content);
  }
  return {};
}

std::unexpected<Error> CannotRead(const std::filesystem::path& path, int reason) {
  const auto code = reason == ENOENT || reason == ENOTDIR ? Error::Code::kNotFound
                    : reason == EACCES || reason == EPERM ? Error::Code::kPermission
                    : reason == EISDIR                    ? Error::Code::kInvalidArgument
                                                          : Error::Code::kUnavailable;
  return Fail(code, "cannot read {}: {}", path.string(), std::strerror(reason));
}

Result<Identity> HashOf(const std::filesystem::path& path) {
  // Opening a FIFO or device could block forever.
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file || fstat(file.get(), &status) != 0) return CannotRead(path, errno);
  if (!S_ISREG(status.st_mode)) {
    return InvalidArgument("cannot read {}: not a regular file", path.string());
  }
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  if (state == nullptr) return Fail(Error::Code::kExhausted, "out of memory while hashing a file");
  XXH3_128bits_reset(state.get());
  std::vector<char> piece(kMiB);
  for (;;) {
    const ssize_t length = read(file.get(), piece.data(), piece.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return CannotRead(path, errno);
    if (length == 0) break;
    XXH3_128bits_update(state.get(), piece.data(), static_cast<std::size_t>(length));
  }
  return From(XXH3_128bits_digest(state.get()));
}

}  // namespace

std::string FormatIdentity(const Identity& identity) {
  std::string text;
  for (const std::uint8_t byte : identity) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

Result<Identity> FileHashCache::Hash(const std::filesystem::path& path) {
  if (const auto known = files_.find(path); known != files_.end()) return known->second;
  const auto hash = HashOf(path);
  if (hash) files_.emplace(path, *hash);
  return hash;
}

Result<std::vector<Identity>> ComputeIdentities(const Job& job, FileHashCache& files,
                                                const platform::Environment& environment) {
  ASSIGN_OR_RETURN(const auto expander, Expander::Make(job));
  std::vector<Identity> commands;
  for (const Command& command : job.commands) commands.push_back(HashOf(command, environment));
  std::vector<Identity> contents;
  contents.reserve(job.steps.size());
  IdentityCounter counter(contents, job.steps.size());
  std::vector<Identity> identities;
  identities.reserve(job.steps.size());
  FieldHasher fields;
  std::vector<ParameterView> sorted;
  for (const Step& step : job.steps) {
    fields.Clear();
    fields.Add(commands[step.command]);
    AddParameters(fields, step, sorted);
    RETURN_IF_ERROR(AddInputs(fields, expander, step, contents.size() + 1, files));
    contents.push_back(fields.Hash());
    const std::uint64_t before = counter.AddLast();
    fields.Clear();
    fields.Add(contents.back());
    fields.Add(before);
    identities.push_back(fields.Hash());
  }
  return identities;
}

Result<std::vector<Identity>> ComputeIdentities(const Job& job) {
  FileHashCache files;
  return ComputeIdentities(job, files);
}

Result<std::filesystem::path> FindProgram(std::string_view word,
                                          const std::filesystem::path& folder,
                                          std::string_view search_path) {
  if (word.contains('/')) {
    auto path = folder / word;
    if (IsExecutable(path)) return path;
    std::error_code ignored;
    const bool exists = std::filesystem::exists(path, ignored);
    if (std::filesystem::is_directory(path, ignored)) {
      return Fail(Error::Code::kPermission, "{} is a folder, not a program", path.string());
    }
    return Fail(exists ? Error::Code::kPermission : Error::Code::kNotFound,
                exists ? fmt::format("{} is not executable; chmod +x it, or name its interpreter",
                                     path.string())
                       : fmt::format("program {} not found", path.string()));
  }
  const std::string program = FindInPath(word, folder.native(), search_path);
  if (!program.empty()) return program;
  return Fail(Error::Code::kNotFound, "program '{}' not found in PATH", word);
}

namespace {

// Returns the most descriptive word of a command: the script rather than its interpreter.
std::string DescriptiveWord(const Command& command) {
  std::vector<std::string> words = command.arguments;
  if (command.shell && !words.empty()) {
    const auto split = platform::Words(command.arguments.front());
    words.assign(split.begin(), split.end());
  }
  if (words.empty()) return {};
  static constexpr std::array<std::string_view, 10> kInterpreters = {
      "python", "bash", "sh", "dash", "perl", "ruby", "node", "julia", "Rscript", "php"};
  std::string program = std::filesystem::path(words.front()).filename();
  const bool interpreter = std::ranges::any_of(kInterpreters, [&](std::string_view name) {
    return program.starts_with(name) &&
           program.find_first_not_of("0123456789.", name.size()) == program.npos;
  });
  if (!interpreter || words.size() < 2 || words[1].starts_with('-')) return program;
  return std::filesystem::path(words[1]).stem();
}

}  // namespace

std::string DefaultName(const Job& job) {
  constexpr std::size_t kMaxLength = 24;
  std::string slug;
  FieldHasher fields;
  for (const Command& command : job.commands) {
    AddCommand(fields, command);
    if (!slug.empty()) continue;
    for (const char c : DescriptiveWord(command)) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      const bool capital = c >= 'A' && c <= 'Z';
      if (letter) slug += c;
      if (capital) slug += static_cast<char>(c - 'A' + 'a');
      if (!letter && !capital && !slug.empty() && !slug.ends_with('-')) slug += '-';
      if (slug.size() == kMaxLength) break;
    }
    while (slug.ends_with('-')) slug.pop_back();
  }
  if (slug.empty()) slug = "job";
  return fmt::format("{}-{}", slug, FormatIdentity(fields.Hash()).substr(0, 8));
}

}  // namespace reveza::jobs
