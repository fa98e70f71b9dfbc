// What the end of a job takes.
#pragma once

#include <stdint.h>
#include <sys/types.h>

// Kills what is left of a job: processes of its user with REVEZA_JOB=NUMBER in their environment, also those that
// have left its session. Returns how many.
int end_processes(const char *number, uid_t user);

// Writes what the daemon counted for a job into its AdminComment, later and without waiting for it.
void record_usage(const char *number, uint32_t job);
