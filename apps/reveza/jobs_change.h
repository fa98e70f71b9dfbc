// The commands of `reveza jobs` that change what a job has to do, whether a runner works on it or
// not: what failed has another turn, further steps come to it.
#pragma once

namespace reveza::cli {

int RetryJob(int argc, char** argv);
int AddToJob(int argc, char** argv);

}  // namespace reveza::cli
