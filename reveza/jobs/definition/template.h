// Templates with placeholders in braces.
//
//   {seed}     the step's parameter `seed`
//   {file:stem}  a part of it as a path; also name, folder and extension
//   {slot}     the worker that runs the step, from 1; unique among running steps
//   {step}     the number of the step in its job, from 1
//   {from}     the first missing cycle, and
//   {to}       the last cycle to run; both only for commands with cycles
//   {{  }}     literal braces
//
// Only names in braces are replaced; other braces are kept ('{print $1}', '{"a": 1}'). Placeholders
// of other tools and likely typos ('{}', '{ seed }', '{seed:03}') are rejected.
//
// Pure functions; a Template is immutable.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"

namespace reveza::jobs {

// Values known only when a step starts.
struct BuiltIns {
  std::uint64_t slot = 1;
  std::uint64_t step = 1;
  std::uint64_t from = 1;
  std::uint64_t to = 1;
};

// Returns whether `word` is a letter or _, followed by letters, digits and _.
bool IsIdentifier(std::string_view word);

// Returns whether the name is reserved (slot, step, from, to).
bool IsBuiltIn(std::string_view name);

// kInvalidArgument: not an identifier, or a reserved name.
Status CheckParameterName(std::string_view name);

// Quotes a word for /bin/sh; words without special characters stay unquoted.
std::string ShellQuote(std::string_view word);

// Joins arguments into a /bin/sh command line, quoting where needed.
std::string ShellJoin(std::span<const std::string> arguments);

// A parsed template.
class Template {
 public:
  enum class Use { kPlain, kShell };

  // Parses a template. `parameters` are the known names; `cycles` allows {from} and {to}.
  // kInvalidArgument: an unknown placeholder, with the nearest valid spelling.
  static Result<Template> Parse(std::string_view text, std::span<const std::string_view> parameters,
                                bool cycles, Use use = Use::kPlain);

  // kInvalidArgument: the step lacks a parameter of the template.
  Result<std::string> Expand(const Step& step, const BuiltIns& built_ins) const;

 private:
  struct Piece {
    std::string before;                            // literal text in front of the value
    std::uint64_t BuiltIns::* built_in = nullptr;  // null: a parameter
    std::string name;
    std::string (*part)(const std::string& path) = nullptr;  // null: the whole value
    std::uint32_t index = 0;  // likely position among the step's parameters
    char quote = '\0';        // in a shell line: the quote open at the value
  };

  friend class TemplateParser;
  std::vector<Piece> pieces_;
  std::string rest_;
  Use use_ = Use::kPlain;
};

}  // namespace reveza::jobs
