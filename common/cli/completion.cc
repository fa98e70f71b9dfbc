#include "common/cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "common/cli/help_text.h"

namespace reveza::command_line {
namespace {

constexpr std::string_view kListSuffix = ",...";
constexpr auto kFileKinds = std::to_array<std::string_view>({"FILE", "PATH", "PLACE"});
constexpr auto kFolderKinds = std::to_array<std::string_view>({"FOLDER", "DIR"});

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string FlagName(std::string_view name) {
  return fmt::format("{}{}", name.size() == 1 ? "-" : "--", name);
}

// Returns the long names with dashes, or the short ones if there is none.
std::vector<std::string> FlagsOf(const CLI::Option& option) {
  std::vector<std::string> flags;
  const auto& names = option.get_lnames().empty() ? option.get_snames() : option.get_lnames();
  for (const std::string& name : names) flags.push_back(FlagName(name));
  return flags;
}

// Completes one command line; Read() is called for each word but the last.
class Completer {
 public:
  Completer(const CLI::App& root, const CompletionSource& source)
      : source_(source), command_(&root) {}

  // Returns whether the words from this one on are the command line of another program.
  bool Read(const std::string& word) {
    if (pending_ != nullptr) {
      pending_ = nullptr;
      return false;
    }
    if (word == "--" && !after_dashes_) {
      after_dashes_ = true;
      return false;
    }
    if (after_dashes_ && Command() != nullptr) return true;
    if (!after_dashes_ && word.size() > 1 && word.starts_with('-')) {
      ReadOption(word);
      return false;
    }
    if (const CLI::App* inner = Subcommand(word)) {
      command_ = inner;
      positionals_.clear();
      return false;
    }
    if (NextPositional() != nullptr && NextPositional() == Command() && !HasSubcommands()) {
      return true;
    }
    excess_ = excess_ || NextPositional() == nullptr;
    positionals_.push_back(word);
    return false;
  }

  Completion Last(const std::string& word, std::size_t index) const {
    if (pending_ != nullptr) return Values(ValueKind(*pending_), "", word);
    if (!after_dashes_ && word.starts_with('-')) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) return {.candidates = Options(word)};
      const CLI::Option* option = FindOption(word.substr(0, equals));
      if (option == nullptr || !TakesValue(*option)) return {};
      return Values(ValueKind(*option), word.substr(0, equals + 1), word.substr(equals + 1));
    }
    const CLI::Option* next = NextPositional();
    const bool is_command = next != nullptr && next == Command();
    if (after_dashes_ ? Command() != nullptr : is_command && !HasSubcommands()) {
      return {.kind = Completion::Kind::kCommand, .command = index};
    }
    Completion completion;
    if (next != nullptr && !is_command) completion = Values(ValueKind(*next), "", word);
    if (positionals_.empty()) AddSubcommands(word, completion.candidates);
    if (word.empty() && next == nullptr && !excess_ && completion.candidates.empty() &&
        !after_dashes_) {
      completion.candidates = Options(word);
    }
    return completion;
  }

 private:
  bool HasSubcommands() const { return !command_->get_subcommands({}).empty(); }

  const CLI::App* Subcommand(const std::string& word) const {
    if (after_dashes_ || !positionals_.empty()) return nullptr;
    const auto all = command_->get_subcommands({});
    const auto found =
        std::ranges::find_if(all, [&](const CLI::App* inner) { return inner->get_name() == word; });
    return found == all.end() ? nullptr : *found;
  }

  // The positional that is the command line of another program.
  const CLI::Option* Command() const {
    for (const CLI::Option* option : command_->get_options()) {
      if (option->get_positional() && ValueKind(*option) == "COMMAND") return option;
    }
    return nullptr;
  }

  const CLI::Option* NextPositional() const {
    std::size_t left = positionals_.size();
    for (const CLI::Option* option : command_->get_options()) {
      if (!option->get_positional()) continue;
      const auto max = static_cast<std::size_t>(option->get_items_expected_max());
      if (left < max) return option;
      left -= max;
    }
    return nullptr;
  }

  // Calls `function` with each option that may be given here, until it returns true.
  void ForEachOption(const std::function<bool(const CLI::Option&)>& function) const {
    for (const CLI::App* app = command_; app != nullptr; app = app->get_parent()) {
      for (const CLI::Option* option : app->get_options()) {
        if (option->get_positional() || option->get_group().empty()) continue;
        if (app != command_ && !IsInherited(*option)) continue;
        if (function(*option)) return;
      }
      if (!app->get_fallthrough()) return;
    }
  }

  bool IsInherited(const CLI::Option& option) const {
    const auto& names = option.get_lnames();
    if (names.empty() || names.front() == "help" || names.front() == "version") return false;
    return !source_.accepts || source_.accepts(*command_, names.front());
  }

  const CLI::Option* FindOption(const std::string& flag) const {
    const CLI::Option* found = nullptr;
    ForEachOption([&](const CLI::Option& option) {
      if (option.check_name(flag)) found = &option;
      return found != nullptr;
    });
    return found;
  }

  void ReadOption(const std::string& word) {
    const std::size_t equals = word.find('=');
    const CLI::Option* option = FindOption(word.substr(0, equals));
    if (option == nullptr) return;
    given_.push_back(option);
    if (equals == std::string::npos && TakesValue(*option)) pending_ = option;
  }

  // Whether an option is of no use because it, or one that excludes it, was given.
  bool IsSpent(const CLI::Option& option) const {
    return std::ranges::any_of(given_, [&](const CLI::Option* given) {
      if (given == &option && given->get_items_expected_max() <= 1) return true;
      const auto excluded = given->get_excludes();
      return std::ranges::find(excluded, &option) != excluded.end();
    });
  }

  std::vector<Candidate> Options(const std::string& word) const {
    std::vector<Candidate> candidates;
    ForEachOption([&](const CLI::Option& option) {
      if (IsSpent(option)) return false;
      for (const std::string& flag : FlagsOf(option)) {
        if (flag.starts_with(word)) candidates.push_back({flag, Summary(option.get_description())});
      }
      return false;
    });
    return candidates;
  }

  void AddSubcommands(const std::string& word, std::vector<Candidate>& candidates) const {
    for (const CLI::App* inner : command_->get_subcommands({})) {
      if (!inner->get_name().starts_with(word) || inner->get_group().empty()) continue;
      candidates.push_back({inner->get_name(), Summary(inner->get_description())});
    }
  }

  // Completes `word`, a value that follows `prefix` in the shell's word.
  Completion Values(std::string kind, std::string prefix, std::string word) const {
    if (kind.ends_with(kListSuffix)) {
      kind.resize(kind.size() - kListSuffix.size());
      const std::size_t comma = word.rfind(',');
      if (comma != std::string::npos) {
        prefix += word.substr(0, comma + 1);
        word.erase(0, comma + 1);
      }
    }
    if (std::ranges::find(kFileKinds, kind) != kFileKinds.end()) {
      return {.kind = Completion::Kind::kFiles};
    }
    if (std::ranges::find(kFolderKinds, kind) != kFolderKinds.end()) {
      return {.kind = Completion::Kind::kFolders};
    }
    std::vector<Candidate> known = kind.contains('|') ? Alternatives(kind) : Ask(kind);
    Completion completion;
    for (Candidate& candidate : known) {
      if (!candidate.value.starts_with(word)) continue;
      // A shell could not show or insert these.
      if (std::ranges::any_of(candidate.value, [](unsigned char c) { return c < ' '; })) continue;
      if (completion.candidates.size() == kMaxCandidates) break;
      candidate.value.insert(0, prefix);
      completion.candidates.push_back(std::move(candidate));
    }
    return completion;
  }

  static std::vector<Candidate> Alternatives(std::string_view kind) {
    std::vector<Candidate> candidates;
    for (std::size_t begin = 0; begin <= kind.size();) {
      const std::size_t end = std::min(kind.find('|', begin), kind.size());
      const std::string_view word = kind.substr(begin, end - begin);
      const bool placeholder =
          std::ranges::any_of(word, [](unsigned char c) { return std::isupper(c) != 0; });
      if (!placeholder && !word.empty()) candidates.push_back({std::string(word)});
      begin = end + 1;
    }
    return candidates;
  }

  std::vector<Candidate> Ask(std::string_view kind) const {
    if (!source_.values) return {};
    return source_.values(kind, {.command = *command_, .positionals = positionals_});
  }

  const CompletionSource& source_;
  const CLI::App* command_;
  const CLI::Option* pending_ = nullptr;  // its value is the next word
  std::vector<const CLI::Option*> given_;
  std::vector<std::string> positionals_;
  bool after_dashes_ = false;
  bool excess_ = false;  // more words than the command takes
};

}  // namespace

std::string ValueKind(const CLI::Option& option) {
  return option.get_positional() ? option.get_single_name() : option.get_type_name();
}

Completion Complete(const CLI::App& root, std::span<const std::string> words,
                    const CompletionSource& source) {
  if (words.empty()) return {};
  Completer completer(root, source);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (completer.Read(words[i])) return {.kind = Completion::Kind::kCommand, .command = i};
  }
  return completer.Last(words.back(), words.size() - 1);
}

std::string CompletionText(const Completion& completion) {
  switch (completion.kind) {
    case Completion::Kind::kFiles:
      return "files\n";
    case Completion::Kind::kFolders:
      return "folders\n";
    case Completion::Kind::kCommand:
      return fmt::format("command {}\n", completion.command);
    case Completion::Kind::kValues:
      break;
  }
  std::string text = "values\n";
  for (const Candidate& candidate : completion.candidates) {
    text += candidate.value;
    if (!candidate.description.empty()) text += "\t" + candidate.description;
    text += '\n';
  }
  return text;
}

}  // namespace reveza::command_line
