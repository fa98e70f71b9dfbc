// What stands in braces in a command, and the commands that come of it.
//
//   {seed}     the value of parameter `seed` of the step
//   {slot}     the worker that runs the step, from 1: never twice at the same time
//   {step}     the number of the step in its job, from 1
//   {from}     the first cycle that is missing, and
//   {to}       the last one to make; both only where a command has cycles
//   {{  }}     the braces themselves
//
// Only a name in braces is replaced; other braces stay as they are ('{print $1}', '{"a": 1}'). What
// looks as if somebody expected more ('{}', '{ seed }', '{seed:03}') is refused.
//
// Thread-safety: pure functions of values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runner/job.h"

namespace reveza::runner {

// What only the moment of the start knows.
struct BuiltIns {
  std::uint64_t slot = 1;
  std::uint64_t step = 1;
  std::uint64_t from = 1;
  std::uint64_t to = 1;
};

// A letter or _, then letters, digits and _.
bool IsIdentifier(std::string_view word);

// Whether it is one of the names that are not the user's to give.
bool IsBuiltIn(std::string_view name);

// kInvalidArgument: nobody could write it in braces, or it is built in; what would be right.
Status CheckParameterName(std::string_view name);

// The same word for /bin/sh: as it is where no character of it means anything, else in quotes.
std::string QuotedForShell(std::string_view word);

// A command as somebody could type it: its words, quoted where that is needed.
std::string CommandLine(std::span<const std::string> arguments);

// A text with the places in it where values go.
class Template {
 public:
  enum class Use { kPlain, kShell };

  // kInvalidArgument: what stands in braces and is not understood, with the right spelling.
  // `parameters` are the names that steps have; `cycles`: whether {from} and {to} mean something.
  static Result<Template> Parse(std::string_view text, std::span<const std::string_view> parameters,
                                bool cycles, Use use = Use::kPlain);

  // kInvalidArgument: the step lacks a parameter that is named here.
  Result<std::string> Expand(const Step& step, const BuiltIns& built_ins) const;

  // Whether it reads the same for every step.
  bool constant() const { return pieces_.empty(); }

 private:
  enum class What { kParameter, kSlot, kStep, kFrom, kTo };
  struct Piece {
    std::string before;  // the text in front of the value
    What what = What::kParameter;
    std::string name;
    std::uint32_t index = 0;  // where among the parameters of a step it was at first
    char quote = '\0';        // in a shell line: the quotes that the value stands in
  };

  friend class TemplateParser;
  std::vector<Piece> pieces_;
  std::string rest_;
  Use use_ = Use::kPlain;
};

}  // namespace reveza::runner
