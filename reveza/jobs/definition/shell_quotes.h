// Tracks the quoting state of a /bin/sh command line, so that values can be quoted correctly almost
// anywhere in it. Not thread-safe; use one tracker per line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace reveza::jobs {

class ShellQuoteTracker {
 public:
  // Consumes the text up to the next value.
  void Consume(std::string_view text);

  // Returns the open quote at the position of a value: '"', '\'' or, for none, '\0'.
  // kInvalidArgument: the position cannot be quoted safely (a comment, backticks, ${...}, a
  // here-document).
  Result<char> QuoteAtValue();

 private:
  enum class Context {
    kPlain,         // unquoted; also within ( )
    kSubstitution,  // within $( ): unquoted, even inside open quotes
    kDouble,
    kSingle,
    kBraces,  // within ${ }
    kComment,
  };

  void ConsumeOne(char c, char next);
  void ConsumePlain(char c, char next);
  void OpenExpansion(char next);
  void ConsumeDouble(char c, char next);
  void ConsumeBraces(char c, char next);
  void MarkUnquotable(std::string_view why);

  std::vector<Context> open_ = {Context::kPlain};
  std::string word_;                    // the unquoted word so far
  std::string_view unquotable_reason_;  // why no later position can be quoted
  bool escaped_ = false;                // the next character follows a backslash
  bool skip_ = false;                   // the next character was already consumed
};

// Splits a command line into words without running a shell. A pure function.
// Splits at whitespace; '...', "..." and \ quote as in a shell. kInvalidArgument: an unterminated
// quote, or shell syntax outside quotes (| ; & < > ` $).
Result<std::vector<std::string>> SplitWords(std::string_view line);

}  // namespace reveza::jobs
