// Where in a line for /bin/sh a word stands: what quotes are open there. So a value can be put
// almost anywhere in the line and the shell takes it as it is.
// Thread-safety: none; a value of its own for each line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace reveza::runner {

class ShellQuotes {
 public:
  // Reads on: the text of the line up to the next value.
  void Read(std::string_view text);

  // A value stands here. The quotes that are open: '"', '\'' or, for none, '\0'. kInvalidArgument:
  // no quoting is sure to hold here (a comment, backticks, ${...}, a here-document); why.
  Result<char> AtValue();

 private:
  enum class Context {
    kPlain,         // no quotes; also within ( )
    kSubstitution,  // within $( ): plain, though quotes may be open around it
    kDouble,
    kSingle,
    kBraces,  // within ${ }
    kComment,
  };

  void ReadOne(char c, char next);
  void ReadPlain(char c, char next);
  void ReadDouble(char c, char next);
  void ReadBraces(char c, char next);
  void Doubt(std::string_view why);

  std::vector<Context> open_ = {Context::kPlain};
  std::string word_;        // the plain word so far
  std::string_view doubt_;  // why nothing is sure from here on; empty: all is
  bool escaped_ = false;    // a backslash stands before the next character
  bool skip_ = false;       // the next character belongs to the one before
};

}  // namespace reveza::runner
