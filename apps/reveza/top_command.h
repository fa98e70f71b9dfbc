// `reveza top`: machine, GPUs, programs and jobs, live or once, for people or for programs.
#pragma once

namespace reveza::cli {

// argv[0] is "top". Returns the exit status.
int Top(int argc, char** argv);

}  // namespace reveza::cli
