#include "runner/definition/identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/unique_fd.h"
#include "runner/definition/expander.h"

namespace reveza::runner {
namespace {

Identity From(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  static_assert(sizeof(canonical.digest) == std::tuple_size_v<Identity>);
  Identity identity;
  std::ranges::copy(canonical.digest, identity.begin());
  return identity;
}

// For tables in memory: it is a hash already.
struct ByLastBytes {
  std::size_t operator()(const Identity& identity) const {
    std::size_t last = 0;
    std::memcpy(&last, identity.data() + identity.size() - sizeof(last), sizeof(last));
    return last;
  }
};

// Collects fields so that no two different lists of fields give the same bytes: each has its length
// before it.
class Fields {
 public:
  void Add(std::string_view field) {
    Add(static_cast<std::uint64_t>(field.size()));
    bytes_ += field;
  }
  void Add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      bytes_ += static_cast<char>(static_cast<unsigned char>(number >> shift));
    }
  }
  void Add(const Identity& identity) {
    for (const std::uint8_t byte : identity) bytes_ += static_cast<char>(byte);
  }
  void Clear() { bytes_.clear(); }
  Identity Hash() const { return From(XXH3_128bits(bytes_.data(), bytes_.size())); }

 private:
  std::string bytes_;
};

void AddCommand(Fields& fields, const Command& command) {
  fields.Add(std::uint64_t{command.shell});
  fields.Add(static_cast<std::uint64_t>(command.arguments.size()));
  for (const std::string& argument : command.arguments) fields.Add(argument);
  fields.Add(command.folder.native());
}

// What all steps of a command have in common.
Identity HashOf(const Command& command, const platform::Environment& environment) {
  Fields fields;
  fields.Add("reveza step 1");
  AddCommand(fields, command);
  auto set = command.environment;
  // Nothing sets a variable twice, so there is no order to keep among equals.
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

void AddParameters(Fields& fields, const Step& step, std::vector<const Parameter*>& sorted) {
  sorted.clear();
  for (const Parameter& parameter : step.parameters) sorted.push_back(&parameter);
  const auto by_name = [](const Parameter* parameter) -> const std::string& {
    return parameter->name;
  };
  std::ranges::sort(sorted, {}, by_name);
  fields.Add(static_cast<std::uint64_t>(sorted.size()));
  for (const Parameter* parameter : sorted) {
    fields.Add(parameter->name);
    fields.Add(parameter->value);
  }
}

Status AddInputs(Fields& fields, const Expander& expander, const Step& step, std::size_t number,
                 FileHashes& files) {
  const auto inputs = expander.Inputs(step);
  if (!inputs) return std::unexpected(inputs.error());
  fields.Add(static_cast<std::uint64_t>(inputs->size()));
  for (const auto& path : *inputs) {
    const auto content = files.Of(path);
    if (!content) {
      const bool later = content.error().code == Error::Code::kNotFound && !step.after.empty();
      return Fail(content.error().code,
                  fmt::format("step {}: input: {}{}", number, content.error().message,
                              later ? " (inputs are read before the first step begins; leave away "
                                      "what earlier steps make)"
                                    : ""));
    }
    fields.Add(content->hash);
  }
  return {};
}

std::unexpected<Error> CannotRead(const std::filesystem::path& path, int reason) {
  const auto code = reason == ENOENT || reason == ENOTDIR ? Error::Code::kNotFound
                    : reason == EACCES || reason == EPERM ? Error::Code::kPermission
                    : reason == EISDIR                    ? Error::Code::kInvalidArgument
                                                          : Error::Code::kUnavailable;
  return Fail(code, fmt::format("cannot read {}: {}", path.string(), std::strerror(reason)));
}

Result<FileContent> Read(const std::filesystem::path& path) {
  // What is not a file could block for ever, or have no end.
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file || fstat(file.get(), &status) != 0) return CannotRead(path, errno);
  if (!S_ISREG(status.st_mode)) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("cannot read {}: it is no file", path.string()));
  }
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  if (state == nullptr) return Fail(Error::Code::kExhausted, "no memory to hash a file");
  XXH3_128bits_reset(state.get());
  std::vector<char> piece(kMiB);
  FileContent content{
      .path = path,
      .size = 0,
      .modified = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
      .hash = {}};
  for (;;) {
    const ssize_t length = read(file.get(), piece.data(), piece.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return CannotRead(path, errno);
    if (length == 0) break;
    XXH3_128bits_update(state.get(), piece.data(), static_cast<std::size_t>(length));
    content.size += static_cast<Bytes>(length);
  }
  content.hash = From(XXH3_128bits_digest(state.get()));
  return content;
}

}  // namespace

std::string IdentityText(const Identity& identity) {
  std::string text;
  for (const std::uint8_t byte : identity) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

std::optional<Identity> ParseIdentity(std::string_view text) {
  Identity identity{};
  if (text.size() != 2 * identity.size()) return std::nullopt;
  for (std::size_t i = 0; i < identity.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, identity[i], 16).ptr != begin + 2) return std::nullopt;
  }
  return identity;
}

Result<FileContent> FileHashes::Of(const std::filesystem::path& path) {
  if (const auto known = files_.find(path); known != files_.end()) return known->second;
  auto content = Read(path);
  if (content) files_.emplace(path, *content);
  return content;
}

Result<std::vector<Identity>> IdentitiesOf(const Job& job, FileHashes& files,
                                           const platform::Environment& environment) {
  const auto expander = Expander::Make(job);
  if (!expander) return std::unexpected(expander.error());
  std::vector<Identity> commands;
  for (const Command& command : job.commands) commands.push_back(HashOf(command, environment));
  std::vector<Identity> identities;
  identities.reserve(job.steps.size());
  std::unordered_map<Identity, std::uint64_t, ByLastBytes> seen;
  seen.reserve(job.steps.size());
  Fields fields;
  std::vector<const Parameter*> sorted;
  for (const Step& step : job.steps) {
    fields.Clear();
    fields.Add(commands[step.command]);
    AddParameters(fields, step, sorted);
    if (auto read = AddInputs(fields, *expander, step, identities.size() + 1, files); !read) {
      return std::unexpected(read.error());
    }
    const Identity content = fields.Hash();
    fields.Clear();
    fields.Add(content);
    fields.Add(seen[content]++);
    identities.push_back(fields.Hash());
  }
  return identities;
}

Result<std::vector<Identity>> IdentitiesOf(const Job& job) {
  FileHashes files;
  return IdentitiesOf(job, files);
}

Result<std::filesystem::path> FindProgram(std::string_view word,
                                          const std::filesystem::path& folder,
                                          std::string_view search_path) {
  const auto can_run = [](const std::filesystem::path& path) {
    struct stat status = {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (word.contains('/')) {
    auto path = folder / word;
    if (can_run(path)) return path;
    std::error_code ignored;
    const bool exists = std::filesystem::exists(path, ignored);
    return Fail(exists ? Error::Code::kPermission : Error::Code::kNotFound,
                exists ? fmt::format("{} cannot be executed; chmod +x it, or name its interpreter",
                                     path.string())
                       : fmt::format("there is no program {}", path.string()));
  }
  for (;;) {
    const std::size_t colon = search_path.find(':');
    std::filesystem::path candidate = folder / search_path.substr(0, colon) / word;
    if (!word.empty() && can_run(candidate)) return candidate;
    if (colon == search_path.npos) break;
    search_path.remove_prefix(colon + 1);
  }
  return Fail(Error::Code::kNotFound, fmt::format("there is no program '{}' in PATH", word));
}

Result<FileContent> ProgramIdentity(std::string_view word, const std::filesystem::path& folder,
                                    std::string_view search_path, FileHashes& files) {
  const auto path = FindProgram(word, folder, search_path);
  if (!path) return std::unexpected(path.error());
  return files.Of(*path);
}

namespace {

// The word of a command that says most about it: the script rather than its interpreter.
std::string Telling(const Command& command) {
  std::vector<std::string> words = command.arguments;
  if (command.shell && !words.empty()) {
    const std::string line = words.front();
    words.clear();
    for (std::size_t at = 0; at < line.size() && words.size() < 2;) {
      const std::size_t begin = std::min(line.find_first_not_of(" \t\n", at), line.size());
      const std::size_t end = std::min(line.find_first_of(" \t\n", begin), line.size());
      if (begin < end) words.push_back(line.substr(begin, end - begin));
      at = end;
    }
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
  constexpr std::size_t kLongest = 24;
  std::string slug;
  Fields fields;
  for (const Command& command : job.commands) {
    AddCommand(fields, command);
    if (!slug.empty()) continue;
    for (const char c : Telling(command)) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      const bool capital = c >= 'A' && c <= 'Z';
      if (letter) slug += c;
      if (capital) slug += static_cast<char>(c - 'A' + 'a');
      if (!letter && !capital && !slug.empty() && !slug.ends_with('-')) slug += '-';
      if (slug.size() == kLongest) break;
    }
    while (slug.ends_with('-')) slug.pop_back();
  }
  if (slug.empty()) slug = "job";
  return fmt::format("{}-{}", slug, IdentityText(fields.Hash()).substr(0, 8));
}

}  // namespace reveza::runner
