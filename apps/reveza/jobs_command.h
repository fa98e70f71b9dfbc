// `reveza jobs ...`: lists of steps that are worked off, resumed and looked at.
#pragma once

namespace reveza::cli {

// argv[0] is "jobs". Returns the exit status.
int JobsCommand(int argc, char** argv);

}  // namespace reveza::cli
