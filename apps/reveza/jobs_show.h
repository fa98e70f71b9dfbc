// The commands of `reveza jobs` that look at a job, or tell its runner something. argv[0] is the
// command's name. Each returns the exit status.
#pragma once

namespace reveza::cli {

int ListJobs(int argc, char** argv);
int ShowJob(int argc, char** argv);
int ShowLogs(int argc, char** argv);
int WhyJob(int argc, char** argv);
int TuneJob(int argc, char** argv);
int FollowJob(int argc, char** argv);
int WaitForJob(int argc, char** argv);
int PauseJob(int argc, char** argv);
int ResumeJob(int argc, char** argv);
int StopJob(int argc, char** argv);
int CancelJob(int argc, char** argv);
int RepairJob(int argc, char** argv);
int PruneJob(int argc, char** argv);

}  // namespace reveza::cli
