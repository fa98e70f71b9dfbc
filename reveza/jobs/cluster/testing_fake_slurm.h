// For tests: a Slurm of scripts (testing_slurm/), whose state is files of a folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace reveza::jobs {

// Puts its commands into folder/bin, which is the first of PATH then; its state is in folder/slurm.
// Removing that ends what waits for a queue that nothing empties.
inline void UseFakeSlurm(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  fs::create_directories(folder / "slurm/tasks");
  fs::create_directories(folder / "bin");
  for (const char* name : {"sbatch", "squeue", "sacct", "scancel", "scontrol"}) {
    fs::create_symlink(REVEZA_FAKE_SLURM, folder / "bin" / name);
  }
  setenv("PATH", ((folder / "bin").string() + ":" + getenv("PATH")).c_str(), 1);
  setenv("FAKE_SLURM", (folder / "slurm").c_str(), 1);
}

}  // namespace reveza::jobs
