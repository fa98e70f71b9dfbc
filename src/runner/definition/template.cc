#include "runner/definition/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "base/nearest.h"
#include "runner/definition/shell_quotes.h"

namespace reveza::runner {
namespace {

constexpr std::array<std::string_view, 4> kBuiltIns = {"slot", "step", "from", "to"};

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

bool BeginsIdentifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool ContinuesIdentifier(char c) { return BeginsIdentifier(c) || (c >= '0' && c <= '9'); }

// The identifier that a text begins with.
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

// A value inside a line for the shell: open quotes are closed, and opened again behind it.
void AppendForShell(std::string& line, std::string_view value, char quote) {
  if (IsSafeForShell(value)) {
    line += value;
    return;
  }
  if (quote != '\0') line += quote;
  AppendInSingleQuotes(line, value);
  if (quote != '\0') line += quote;
}

const std::string* ValueOf(const Step& step, std::string_view name, std::uint32_t likely) {
  if (likely < step.parameters.size() && step.parameters[likely].name == name) {
    return &step.parameters[likely].value;
  }
  const auto found = std::ranges::find(step.parameters, name, &Parameter::name);
  return found == step.parameters.end() ? nullptr : &found->value;
}

}  // namespace

bool IsIdentifier(std::string_view word) {
  return !word.empty() && LeadingIdentifier(word).size() == word.size();
}

bool IsBuiltIn(std::string_view name) {
  return std::ranges::find(kBuiltIns, name) != kBuiltIns.end();
}

Status CheckParameterName(std::string_view name) {
  if (IsBuiltIn(name)) {
    return Wrong(fmt::format("'{0}' is built in and cannot be a parameter; call it my_{0}", name));
  }
  if (!IsIdentifier(name)) {
    return Wrong(fmt::format(
        "'{}' is no name of a parameter; write letters, digits and _, first a letter", name));
  }
  return {};
}

std::string QuotedForShell(std::string_view word) {
  std::string quoted;
  AppendForShell(quoted, word, '\0');
  return quoted;
}

std::string CommandLine(std::span<const std::string> arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty()) line += ' ';
    line += QuotedForShell(argument);
  }
  return line;
}

// Reads one text from front to back.
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
        Literal("{", 2);
      } else if (rest.starts_with("}}") && escaped_ > 0) {
        // Only where one was escaped before: '{"a":{"b":1}}' stays what it is.
        --escaped_;
        Literal("}", 2);
      } else if (rest.starts_with('{')) {
        if (auto braces = Braces(rest); !braces) return std::unexpected(braces.error());
      } else {
        Literal(rest.substr(0, 1), 1);
      }
    }
    result_.rest_ = std::move(literal_);
    return std::move(result_);
  }

 private:
  bool shell() const { return result_.use_ == Template::Use::kShell; }

  void Literal(std::string_view text, std::size_t length) {
    literal_ += text;
    at_ += length;
  }

  bool IsKnown(std::string_view name) const {
    return IsBuiltIn(name) || std::ranges::find(parameters_, name) != parameters_.end();
  }

  Status Braces(std::string_view rest) {
    const std::size_t close = rest.find('}');
    if (close == rest.npos) {
      Literal("{", 1);
      return {};
    }
    const std::string_view inside = rest.substr(1, close - 1);
    if (IsIdentifier(inside)) {
      if (shell() && literal_.ends_with('$')) return ShellVariable(inside);
      return Value(inside);
    }
    if (auto fine = NothingElseWasMeant(inside); !fine) return fine;
    Literal("{", 1);
    return {};
  }

  // What other tools would replace, and what is almost right.
  Status NothingElseWasMeant(std::string_view inside) const {
    static constexpr std::array<std::string_view, 4> kOfOthers = {".", "/", "//", "/."};
    const std::string as_text = fmt::format("write {{{{{}}}}} for the text itself", inside);
    if (inside.empty()) {
      return Wrong(
          fmt::format("'{{}}' names no parameter; write {}, or {{{{}}}} for the text itself",
                      Spelled("{line}")));
    }
    const bool number = std::ranges::all_of(inside, [](char c) { return c >= '0' && c <= '9'; });
    if (number || std::ranges::find(kOfOthers, inside) != kOfOthers.end()) {
      return Wrong(fmt::format("'{{{}}}' is not replaced; write {}, or {}", inside,
                               Spelled("the name of a parameter"), as_text));
    }
    if (inside == "#" || inside == "%") {
      return Wrong(fmt::format("'{{{}}}' is not replaced; write {{{}}}, or {}", inside,
                               inside == "#" ? "step" : "slot", as_text));
    }
    std::string_view trimmed = inside;
    while (trimmed.starts_with(' ')) trimmed.remove_prefix(1);
    const std::string_view name = LeadingIdentifier(trimmed);
    trimmed.remove_prefix(name.size());
    const bool format = trimmed.starts_with(':') || trimmed.starts_with('!');
    const bool blanks = trimmed.find_first_not_of(' ') == trimmed.npos;
    if (!name.empty() && IsKnown(name) && (format || blanks)) {
      return Wrong(
          fmt::format("'{{{}}}' is not replaced; write {{{}}}, or {}", inside, name, as_text));
    }
    return {};
  }

  // All parameters as they are written, or `otherwise`.
  std::string Spelled(std::string_view otherwise) const {
    if (parameters_.empty()) return std::string(otherwise);
    return fmt::format("{{{}}}", fmt::join(parameters_, "} or {"));
  }

  // ${name} in a line for the shell is the shell's.
  Status ShellVariable(std::string_view name) {
    if (IsKnown(name)) {
      return Wrong(
          fmt::format("'${{{0}}}' would be the shell's variable; write {{{0}}} for the parameter, "
                      "or ${0} for the "
                      "variable",
                      name));
    }
    literal_ += fmt::format("{{{}}}", name);
    at_ += name.size() + 2;
    return {};
  }

  Status Value(std::string_view name) {
    using What = Template::What;
    Template::Piece piece;
    if (name == "slot") {
      piece.what = What::kSlot;
    } else if (name == "step") {
      piece.what = What::kStep;
    } else if (name == "from" || name == "to") {
      if (!cycles_) {
        return Wrong(
            fmt::format("'{{{}}}' needs a command with cycles; say how many (--cycles N)", name));
      }
      piece.what = name == "from" ? What::kFrom : What::kTo;
    } else {
      const auto found = std::ranges::find(parameters_, name);
      if (found == parameters_.end()) return Unknown(name);
      piece.name = name;
      piece.index = static_cast<std::uint32_t>(found - parameters_.begin());
    }
    if (shell()) {
      quotes_.Read(literal_);
      const auto quote = quotes_.AtValue();
      if (!quote) return Wrong(fmt::format("'{{{}}}': {}", name, quote.error().message));
      piece.quote = *quote;
    }
    piece.before = std::exchange(literal_, {});
    result_.pieces_.push_back(std::move(piece));
    at_ += name.size() + 2;
    return {};
  }

  std::unexpected<Error> Unknown(std::string_view name) const {
    std::vector<std::string_view> known(parameters_.begin(), parameters_.end());
    known.insert(known.end(), kBuiltIns.begin(), kBuiltIns.end());
    const auto nearest = Nearest(name, known);
    const std::string as_text = fmt::format("write {{{{{}}}}} for the text itself", name);
    if (nearest) {
      return Wrong(fmt::format("unknown parameter '{{{}}}'; did you mean {{{}}}? ({})", name,
                               *nearest, as_text));
    }
    const std::string there =
        parameters_.empty() ? "there are no parameters" : "there is " + Spelled("");
    return Wrong(fmt::format("unknown parameter '{{{}}}'; {} ({})", name, there, as_text));
  }

  std::string_view text_;
  std::span<const std::string_view> parameters_;
  bool cycles_;
  std::size_t at_ = 0;
  std::size_t escaped_ = 0;  // braces that were opened by {{ and wait for their }}
  std::string literal_;
  ShellQuotes quotes_;
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
    switch (piece.what) {
      case What::kSlot:
        fmt::format_to(std::back_inserter(text), "{}", built_ins.slot);
        break;
      case What::kStep:
        fmt::format_to(std::back_inserter(text), "{}", built_ins.step);
        break;
      case What::kFrom:
        fmt::format_to(std::back_inserter(text), "{}", built_ins.from);
        break;
      case What::kTo:
        fmt::format_to(std::back_inserter(text), "{}", built_ins.to);
        break;
      case What::kParameter: {
        const std::string* value = ValueOf(step, piece.name, piece.index);
        if (value == nullptr) {
          return Wrong(fmt::format("step {} has no parameter '{}'", built_ins.step, piece.name));
        }
        if (use_ == Use::kShell) {
          AppendForShell(text, *value, piece.quote);
        } else {
          text += *value;
        }
      }
    }
  }
  text += rest_;
  return text;
}

}  // namespace reveza::runner
