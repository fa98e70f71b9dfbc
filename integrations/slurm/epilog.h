// What the end of a job takes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Kills what is left of a job: processes of its user with REVEZA_JOB=NUMBER in their environment,
// also those that have left its session. Returns how many.
int end_processes(const char *number, uid_t user);

// Writes what the daemon counted for a job whose processes have ended. Returns false if nothing.
bool usage_of_job(const char *number, char *to, size_t size);

// Sets the AdminComment of a job that has not ended.
void comment_on_job(uint32_t job, const char *text);
