// Programs of the wheels with and without Arrow.
#pragma once

#include <string>

namespace reveza::command_line {

// Replaces this process by the program `name`-arrow beside it, with the same arguments, if there is
// one and the libraries of the version of pyarrow that it needs are in the same environment.
// Returns if not.
void UseArrowVariant(const std::string& name, char** argv);

}  // namespace reveza::command_line
