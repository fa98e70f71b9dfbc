// `reveza doctor`: its command line, and what it prints.
#pragma once

namespace reveza::cli {

// `argv[0]` is "doctor". The exit status: docs/errors.md.
int DoctorCommand(int argc, char** argv);

}  // namespace reveza::cli
