// `reveza jobs demo`: a list of steps whose runner is killed, that goes on and finds its number of
// workers, and what the doctor says of this machine; about twenty seconds.
#pragma once

namespace reveza::cli {

// argv[0] is "demo". Exit status kResults when a step was lost or done twice.
int JobsDemo(int argc, char** argv);

}  // namespace reveza::cli
