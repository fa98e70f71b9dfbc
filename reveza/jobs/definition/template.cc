#include "reveza/jobs/definition/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "common/base/nearest.h"
#include "reveza/jobs/definition/shell_quotes.h"

namespace reveza::jobs {
namespace {

using BuiltIn = std::pair<std::string_view, std::uint64_t BuiltIns::*>;
constexpr std::array<BuiltIn, 4> kBuiltIns = {{{"slot", &BuiltIns::slot},
                                               {"step", &BuiltIns::step},
                                               {"from", &BuiltIns::from},
                                               {"to", &BuiltIns::to}}};

using Path = std::filesystem::path;
// Parts of a value that is a path. The folder of a bare name is ".".
constexpr std::array<std::pair<std::string_view, std::string (*)(const std::string&)>, 4> kParts = {
    {{"name", [](const std::string& path) { return Path(path).filename().string(); }},
     {"stem", [](const std::string& path) { return Path(path).stem().string(); }},
     {"folder",
      [](const std::string& path) {
        const std::string folder = Path(path).parent_path();
        return folder.empty() ? "." : folder;
      }},
     {"extension", [](const std::string& path) { return Path(path).extension().string(); }}}};

bool BeginsIdentifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool ContinuesIdentifier(char c) { return BeginsIdentifier(c) || (c >= '0' && c <= '9'); }

// Returns the identifier at the beginning of the text.
std::string_view LeadingIdentifier(std::string_view text) {
  if (text.empty() || !BeginsIdentifier(text.front())) return {};
  const auto end = std::ranges::find_if_not(text, ContinuesIdentifier);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

bool IsSafeForShell(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return ContinuesIdentifier(c) || std::string_view("%+,-./:=@").contains(c);
  });
}

void AppendInSingleQuotes(std::string& line, std::string_view word) {
  line += '\'';
  for (const char c : word) {
    if (c == '\'') {
      line += "'\\''";
    } else {
      line += c;
    }
  }
  line += '\'';
}

// Appends a value to a shell command line; an open quote is closed before it and reopened after it.
void AppendForShell(std::string& line, std::string_view value, char quote) {
  if (IsSafeForShell(value)) {
    line += value;
    return;
  }
  if (quote != '\0') line += quote;
  AppendInSingleQuotes(line, value);
  if (quote != '\0') line += quote;
}

std::optional<std::string_view> ValueOf(const Step& step, std::string_view name,
                                        std::uint32_t likely) {
  if (likely < step.parameters.size() && step.parameters[likely].name == name) {
    return step.parameters[likely].value;
  }
  for (const auto parameter : step.parameters) {
    if (parameter.name == name) return parameter.value;
  }
  return std::nullopt;
}

}  // namespace

bool IsIdentifier(std::string_view word) {
  return !word.empty() && LeadingIdentifier(word).size() == word.size();
}

bool IsBuiltIn(std::string_view name) {
  return std::ranges::find(kBuiltIns, name, &BuiltIn::first) != kBuiltIns.end();
}

Status CheckParameterName(std::string_view name) {
  if (IsBuiltIn(name)) {
    return InvalidArgument("'{0}' is reserved and cannot be a parameter name; use my_{0}", name);
  }
  if (!IsIdentifier(name)) {
    return InvalidArgument(
        "'{}' is not a valid parameter name; use letters, digits and _, beginning with a letter or "
        "_",
        name);
  }
  return {};
}

std::string ShellQuote(std::string_view word) {
  std::string quoted;
  AppendForShell(quoted, word, '\0');
  return quoted;
}

std::string ShellJoin(std::span<const std::string> arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    line += ShellQuote(argument);
  }
  return line;
}

// Parses one template.
class TemplateParser {
 public:
  TemplateParser(std::string_view text, std::span<const std::string_view> parameters, bool cycles,
                 Template::Use use)
      : text_(text), parameters_(parameters), cycles_(cycles) {
    result_.use_ = use;
  }

  Result<Template> Parse() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("{{")) {
        ++escaped_;
        AppendLiteral("{", 2);
      } else if (rest.starts_with("}}") && escaped_ > 0) {
        // Only after an escaped opening brace: '{"a":{"b":1}}' is kept as it is.
        --escaped_;
        AppendLiteral("}", 2);
      } else if (rest.starts_with('{')) {
        RETURN_IF_ERROR(ParseBraces(rest));
      } else {
        AppendLiteral(rest.substr(0, 1), 1);
      }
    }
    result_.rest_ = std::move(literal_);
    return std::move(result_);
  }

 private:
  bool shell() const { return result_.use_ == Template::Use::kShell; }

  void AppendLiteral(std::string_view text, std::size_t length) {
    literal_ += text;
    at_ += length;
  }

  bool IsParameter(std::string_view name) const {
    return std::ranges::find(parameters_, name) != parameters_.end();
  }
  bool IsKnown(std::string_view name) const { return IsBuiltIn(name) || IsParameter(name); }

  Status ParseBraces(std::string_view rest) {
    const std::size_t close = rest.find('}');
    if (close == rest.npos) {
      AppendLiteral("{", 1);
      return {};
    }
    const std::string_view inside = rest.substr(1, close - 1);
    if (IsIdentifier(inside)) {
      if (shell() && literal_.ends_with('$')) return KeepShellVariable(inside);
      return AddPiece(inside, {});
    }
    const std::string_view name = LeadingIdentifier(inside);
    if (IsParameter(name) && inside.substr(name.size()).starts_with(':')) {
      const std::string_view part = inside.substr(name.size() + 1);
      if (std::ranges::find(kParts, part, &decltype(kParts)::value_type::first) != kParts.end()) {
        return AddPiece(name, part);
      }
    }
    RETURN_IF_ERROR(RejectForeignPlaceholder(inside));
    AppendLiteral("{", 1);
    return {};
  }

  // Rejects placeholders of other tools and likely typos.
  Status RejectForeignPlaceholder(std::string_view inside) const {
    static constexpr std::array<std::string_view, 4> kForeignPlaceholders = {".", "/", "//", "/."};
    const std::string as_text = fmt::format("write {{{{{}}}}} for the literal text", inside);
    if (inside.empty()) {
      return InvalidArgument(
          "'{{}}' is not a parameter; write {}, or {{{{}}}} for the literal text",
          ListParameters("{line}"));
    }
    const bool number = std::ranges::all_of(inside, [](char c) { return c >= '0' && c <= '9'; });
    if (number || std::ranges::find(kForeignPlaceholders, inside) != kForeignPlaceholders.end()) {
      return InvalidArgument("'{{{}}}' is not supported; write {}, or {}", inside,
                             ListParameters("the name of a parameter"), as_text);
    }
    if (inside == "#" || inside == "%") {
      return InvalidArgument("'{{{}}}' is not supported; write {{{}}}, or {}", inside,
                             inside == "#" ? "step" : "slot", as_text);
    }
    std::string_view trimmed = inside;
    while (trimmed.starts_with(' ')) trimmed.remove_prefix(1);
    const std::string_view name = LeadingIdentifier(trimmed);
    trimmed.remove_prefix(name.size());
    const bool format = trimmed.starts_with(':') || trimmed.starts_with('!');
    const bool blanks = trimmed.find_first_not_of(' ') == trimmed.npos;
    if (IsParameter(name) && trimmed.starts_with(':')) {
      return InvalidArgument(
          "'{{{}}}' is not supported; write {{{}}}, or a part of it as a path: {{{}:name}}, :stem, "
          ":folder, :extension, or {}",
          inside, name, name, as_text);
    }
    if (!name.empty() && IsKnown(name) && (format || blanks)) {
      return InvalidArgument("'{{{}}}' is not supported; write {{{}}}, or {}", inside, name,
                             as_text);
    }
    return {};
  }

  // Returns "{a} or {b}", or `otherwise` when there are no parameters.
  std::string ListParameters(std::string_view otherwise) const {
    if (parameters_.empty()) return std::string(otherwise);
    return fmt::format("{{{}}}", fmt::join(parameters_, "} or {"));
  }

  // Leaves ${name} in a shell command line to the shell.
  Status KeepShellVariable(std::string_view name) {
    if (IsKnown(name)) {
      return InvalidArgument(
          "'${{{0}}}' is a shell variable; write {{{0}}} for the parameter, or ${0} for the "
          "variable",
          name);
    }
    literal_ += fmt::format("{{{}}}", name);
    at_ += name.size() + 2;
    return {};
  }

  // `part`: of a value that is a path; empty: all.
  Status AddPiece(std::string_view name, std::string_view part) {
    Template::Piece piece;
    const auto* built_in = std::ranges::find(kBuiltIns, name, &BuiltIn::first);
    if (built_in != kBuiltIns.end()) {
      if (!cycles_ && (name == "from" || name == "to")) {
        return InvalidArgument("'{{{}}}' requires cycles; set their number with --cycles N", name);
      }
      piece.built_in = built_in->second;
    } else {
      const auto found = std::ranges::find(parameters_, name);
      if (found == parameters_.end()) return UnknownParameter(name);
      piece.name = name;
      piece.index = static_cast<std::uint32_t>(found - parameters_.begin());
      const auto form = std::ranges::find(kParts, part, &decltype(kParts)::value_type::first);
      if (form != kParts.end()) piece.part = form->second;
    }
    if (shell()) {
      quotes_.Consume(literal_);
      const auto quote = quotes_.QuoteAtValue();
      if (!quote) return InvalidArgument("'{{{}}}': {}", name, quote.error().message);
      piece.quote = *quote;
    }
    piece.before = std::exchange(literal_, {});
    result_.pieces_.push_back(std::move(piece));
    at_ += name.size() + (part.empty() ? 0 : part.size() + 1) + 2;
    return {};
  }

  std::unexpected<Error> UnknownParameter(std::string_view name) const {
    std::vector<std::string_view> known(parameters_.begin(), parameters_.end());
    std::ranges::transform(kBuiltIns, std::back_inserter(known), &BuiltIn::first);
    const auto nearest = Nearest(name, known);
    const std::string as_text = fmt::format("write {{{{{}}}}} for the literal text", name);
    if (nearest) {
      return InvalidArgument("unknown parameter '{{{}}}'; did you mean {{{}}}? ({})", name,
                             *nearest, as_text);
    }
    const std::string known_names =
        parameters_.empty() ? "there are no parameters" : "known: " + ListParameters("");
    return InvalidArgument("unknown parameter '{{{}}}'; {} ({})", name, known_names, as_text);
  }

  std::string_view text_;
  std::span<const std::string_view> parameters_;
  bool cycles_;
  std::size_t at_ = 0;
  std::size_t escaped_ = 0;  // unmatched {{
  std::string literal_;
  ShellQuoteTracker quotes_;
  Template result_;
};

Result<Template> Template::Parse(std::string_view text,
                                 std::span<const std::string_view> parameters, bool cycles,
                                 Use use) {
  return TemplateParser(text, parameters, cycles, use).Parse();
}

Result<std::string> Template::Expand(const Step& step, const BuiltIns& built_ins) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    text += piece.before;
    if (piece.built_in != nullptr) {
      text += std::to_string(built_ins.*piece.built_in);
      continue;
    }
    const auto value = ValueOf(step, piece.name, piece.index);
    if (!value) {
      return InvalidArgument("step {} has no parameter '{}'", built_ins.step, piece.name);
    }
    const std::string part(piece.part == nullptr ? std::string(*value)
                                                 : piece.part(std::string(*value)));
    if (use_ == Use::kShell) {
      AppendForShell(text, part, piece.quote);
    } else {
      text += part;
    }
  }
  text += rest_;
  return text;
}

}  // namespace reveza::jobs
