// SPANK plugin: jobs of Slurm that share the cards of a node through Reveza.
//
// srun and sbatch check the options. On the node the prolog sees to it that the daemon runs;
// slurmstepd asks the program `reveza` for the environment of `reveza run`, which the tasks get;
// the epilog ends what is left of the job and writes what it used into its AdminComment. Knows
// nothing of the daemon's protocol.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "epilog.h"
#include "settings.h"

// What Slurm looks for; all else is hidden.
#pragma GCC visibility push(default)
#include <slurm/spank.h>
SPANK_PLUGIN(reveza, 1)
#pragma GCC visibility pop

enum { kText = 4096 };
static const uint32_t kNoTask = 0xfffffffe;  // Slurm's NO_VAL

// What the job asks for.
static struct {
  bool shares;
  double memory;  // bytes; 0: what a card has
  char weight[kName];
  char priority[kName];
} claim;

static int failure;  // exit status of the tasks of this step, instead of what they would run

static int set_memory(int value, const char *text, int remote) {
  (void)value;
  (void)remote;
  claim.shares = true;
  // To a step inside a job Slurm passes an option without a value on in this way.
  if (text == NULL || text[0] == '\0' || strcmp(text, "(null)") == 0) return 0;
  claim.memory = read_size(text);
  if (claim.memory == 0) {
    slurm_error("reveza: --reveza=%s is not a size; write GiB, such as 8, or 512MiB", text);
    return -1;
  }
  if (settings.card > 0 && claim.memory > settings.card) {
    slurm_error("reveza: --reveza=%s is more than a card has: %.4g GiB", text,
                settings.card / (1 << 30));
    return -1;
  }
  return 0;
}

static int set_weight(int value, const char *text, int remote) {
  (void)value;
  (void)remote;
  char *end = NULL;
  const double weight = text == NULL ? 0 : strtod(text, &end);
  if (text == NULL || end == text || *end != '\0' || !(weight >= 0.01 && weight <= 100)) {
    slurm_error("reveza: --reveza-weight=%s is not a number from 0.01 to 100", text ? text : "");
    return -1;
  }
  snprintf(claim.weight, sizeof(claim.weight), "%s", text);
  return 0;
}

static int set_priority(int value, const char *text, int remote) {
  (void)value;
  (void)remote;
  if (text == NULL ||
      (strcmp(text, "low") != 0 && strcmp(text, "normal") != 0 && strcmp(text, "high") != 0)) {
    slurm_error("reveza: --reveza-priority=%s is not low, normal or high", text ? text : "");
    return -1;
  }
  snprintf(claim.priority, sizeof(claim.priority), "%s", text);
  return 0;
}

static struct spank_option options[] = {
    {"reveza", "GiB",
     "share the cards of the node through Reveza; with at most GiB of each (default: all)", 2, 0,
     set_memory},
    {"reveza-weight", "N", "share of GPU time beside jobs of weight 1, e.g. 2 for twice as much", 1,
     0, set_weight},
    {"reveza-priority", "low|normal|high", "a higher one gets the card first", 1, 0, set_priority},
};

static int read_settings(int count, char **words) {
  for (int i = 0; i < count; ++i) {
    if (read_setting(words[i]) != 0) {
      slurm_error(
          "reveza: plugstack.conf: '%s' is none of reveza=, socket=, start=, group=, "
          "scontrol=, card=SIZE, shard=SIZE",
          words[i]);
      return -1;
    }
  }
  return 0;
}

int slurm_spank_init(spank_t spank, int count, char **words) {
  if (read_settings(count, words) != 0) return -1;
  if (spank_context() == S_CTX_SLURMD) return 0;
  for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); ++i) {
    if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS) return -1;
  }
  return 0;
}

// Returns whether the job uses Reveza, in the prolog, where options are not called back for.
static bool job_shares(spank_t spank) {
  char *text = NULL;
  if (spank_option_getopt(spank, &options[0], &text) == ESPANK_SUCCESS) return true;
  return settings.shard > 0;  // its steps may have shards
}

static uint32_t job_id(spank_t spank) {
  uint32_t job = 0;
  return spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS ? job : 0;
}

// Writes the number of the job for the daemon. Its steps are one job to it, which is not cut up.
static void write_job(char *to, size_t size, uint32_t job) {
  snprintf(to, size, "51ce0000%08x", job);
}

static int ask_status(char *const environment[], struct output *output) {
  char *const command[] = {settings.reveza, "status", NULL};
  return run_program(command, environment, output);
}

// Returns whether there is no daemon. One of another version, for example, is one.
static bool no_daemon(void) {
  char socket[kText];
  snprintf(socket, sizeof(socket), "REVEZA_SOCKET=%s", settings.socket);
  char *const environment[] = {socket, NULL};
  struct output output = {0};
  const int status = ask_status(environment, &output);
  free_output(&output);
  return status == kNoDaemon;
}

// Becomes the daemon, whose log is beside its socket.
static void become_daemon(void *nothing) {
  (void)nothing;
  char log[kPath + 16];
  const char *name = strrchr(settings.socket, '/');
  snprintf(log, sizeof(log), "%.*srevezad.log",
           name == NULL ? 0 : (int)(name + 1 - settings.socket), settings.socket);
  const int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file >= 0 && (dup2(file, 1) < 0 || dup2(file, 2) < 0)) return;
  // As in deploy/systemd/system. Prologs have next to no environment.
  setenv("XDG_CONFIG_HOME", "/etc", 0);
  setenv("REVEZA_USAGE_FILE", "/var/lib/reveza/usage.db", 0);
  setenv("REVEZA_LINGER", "8760h", 0);
  execl(settings.start, settings.start, "--socket", settings.socket,
        settings.group[0] ? "--group" : NULL, settings.group, NULL);
}

int slurm_spank_job_prolog(spank_t spank, int count, char **words) {
  // Slurm has not called slurm_spank_init here. Wrong settings are reported where it does.
  if (read_settings(count, words) != 0 || settings.start[0] == '\0' || !job_shares(spank) ||
      !no_daemon())
    return 0;
  detach(become_daemon, NULL);
  // A prolog that fails takes the node out of service for everyone: it is the steps that report a
  // lack.
  for (int tries = 0; tries < 50 && no_daemon(); ++tries) usleep(100 * 1000);
  return 0;
}

int slurm_spank_job_epilog(spank_t spank, int count, char **words) {
  uid_t user = 0;
  // Also of jobs without the option, which one of their steps may have had.
  if (read_settings(count, words) != 0 || spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS)
    return 0;
  char number[kName];
  write_job(number, sizeof(number), job_id(spank));
  const int ended = end_processes(number, user);
  if (ended > 0) slurm_info("reveza: ended %d processes that job %u left", ended, job_id(spank));
  char usage[kText];
  if (usage_of_job(number, usage, sizeof(usage))) slurm_info("job %u: %s", job_id(spank), usage);
  return 0;
}

// Adds the shards of the step to what the job asks for.
static int add_shards(spank_t spank) {
  char text[kName] = "";
  if (settings.shard == 0 ||
      spank_getenv(spank, "SLURM_SHARDS_ON_NODE", text, sizeof(text)) != ESPANK_SUCCESS) {
    return 0;
  }
  const double shards = strtod(text, NULL);
  if (!(shards > 0)) return 0;
  claim.shares = true;
  const double memory = shards * settings.shard;
  if (claim.memory > memory) {
    slurm_error("reveza: --reveza asks for %.4g GiB, but %s shards are %.4g GiB",
                claim.memory / (1 << 30), text, memory / (1 << 30));
    return -1;
  }
  if (claim.memory == 0) claim.memory = memory;
  if (claim.weight[0] == '\0' && shards <= 100)
    snprintf(claim.weight, sizeof(claim.weight), "%g", shards);
  return 0;
}

// Writes the name of the job: slurm-17, or slurm-17_3 in an array.
static void write_name(spank_t spank, char *to, size_t size) {
  uint32_t array = 0;
  uint32_t task = 0;
  if (spank_get_item(spank, S_JOB_ARRAY_ID, &array) == ESPANK_SUCCESS && array != 0 &&
      spank_get_item(spank, S_JOB_ARRAY_TASK_ID, &task) == ESPANK_SUCCESS && task < kNoTask) {
    snprintf(to, size, "slurm-%u_%u", array, task);
  } else {
    snprintf(to, size, "slurm-%u", job_id(spank));
  }
}

// Prints each line of what a program said, and what it means here. Returns the exit status of the
// tasks.
static int report(int status, struct output *output) {
  char *rest = NULL;
  for (char *line = output->errors != NULL ? strtok_r(output->errors, "\n", &rest) : NULL;
       line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    slurm_error("%s", line);
  }
  char node[kName] = "this node";
  gethostname(node, sizeof(node) - 1);
  if (status == kNoDaemon) {
    slurm_error(
        "reveza: no daemon runs on %s; its administrator starts revezad, or sets start= in "
        "plugstack.conf",
        node);
  } else {
    slurm_error("reveza: %s cannot share its cards (%s run: exit status %d)", node, settings.reveza,
                status);
  }
  return status > 0 ? status : 1;
}

// Copies what `reveza run` set into the job's environment. Returns 0 or an exit status.
static int adopt(spank_t spank, const struct output *output) {
  bool preloaded = false;
  for (const char *at = output->text; at < output->text + output->size; at += strlen(at) + 1) {
    const bool preload = strncmp(at, "LD_PRELOAD=", 11) == 0;
    const char *value = strchr(at, '=');
    if (value == NULL || !(preload || strncmp(at, "REVEZA_", 7) == 0)) continue;
    char name[kName];
    snprintf(name, sizeof(name), "%.*s", (int)(value - at), at);
    if (spank_setenv(spank, name, value + 1, 1) != ESPANK_SUCCESS) return 1;
    preloaded = preloaded || preload;
  }
  // Without the daemon a task waits for it, instead of running beside the others.
  return preloaded && spank_setenv(spank, "REVEZA_REQUIRE_DAEMON", "1", 1) == ESPANK_SUCCESS ? 0
                                                                                             : 1;
}

// Appends an option and its value to a command, if there is one.
static void add_option(char **command, size_t *length, char *name, char *value) {
  if (value[0] == '\0') return;
  command[(*length)++] = name;
  command[(*length)++] = value;
}

// Runs `reveza run` with the claim, as the user. Its output is its environment.
static int ask_environment(spank_t spank, char *const environment[], struct output *output) {
  char name[kName];
  char limit[kName] = "";
  write_name(spank, name, sizeof(name));
  if (claim.memory > 0) snprintf(limit, sizeof(limit), ":%.0fB", claim.memory);
  char *command[16] = {settings.reveza, "run", "--same-job"};
  size_t length = 3;
  add_option(command, &length, "--name", name);
  add_option(command, &length, "--memory", limit);
  add_option(command, &length, "--weight", claim.weight);
  add_option(command, &length, "--priority", claim.priority);
  command[length++] = "--";
  command[length++] = "/usr/bin/env";
  command[length++] = "-0";
  return run_program(command, environment, output);
}

// Gives the job the environment of `reveza run`. Returns 0 or an exit status.
static int prepare(spank_t spank) {
  if (add_shards(spank) != 0) return kBudget;
  if (!claim.shares) return 0;
  char number[kName];
  char job[kText];
  char socket[kText];
  char preload[kText] = "LD_PRELOAD=";
  write_job(number, sizeof(number), job_id(spank));
  snprintf(job, sizeof(job), "REVEZA_JOB=%s", number);
  snprintf(socket, sizeof(socket), "REVEZA_SOCKET=%s", settings.socket);
  char *environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", job, socket, NULL, NULL};
  const size_t used = strlen(preload);
  if (spank_getenv(spank, "LD_PRELOAD", preload + used, (int)(sizeof(preload) - used)) ==
      ESPANK_SUCCESS) {
    environment[3] = preload;
  }
  struct output output = {0};
  int status = ask_status(environment, &output);
  if (status == 0) {  // `reveza run` would start a daemon of the user
    free_output(&output);
    status = ask_environment(spank, environment, &output);
  }
  const int result = status == 0 ? adopt(spank, &output) : report(status, &output);
  free_output(&output);
  return result;
}

// Asks once per step, as the user. If this failed, srun would succeed without having run anything
// (Slurm 22.05): so it is the tasks that fail.
int slurm_spank_user_init(spank_t spank, int count, char **words) {
  (void)count;
  (void)words;
  failure = prepare(spank);
  return 0;
}

int slurm_spank_task_init(spank_t spank, int count, char **words) {
  (void)spank;
  (void)count;
  (void)words;
  if (failure != 0) _exit(failure);  // instead of Slurm's, which is always 1
  return 0;
}

// Writes what the job has used into its AdminComment when the last task of a step has ended: after
// the job, in the epilog, Slurm would not take it.
int slurm_spank_task_exit(spank_t spank, int count, char **words) {
  (void)count;
  (void)words;
  static uint32_t exited;
  uint32_t tasks = 0;
  char number[kName];
  char usage[kText];
  if (!claim.shares || failure != 0 ||
      spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) != ESPANK_SUCCESS || ++exited < tasks) {
    return 0;
  }
  write_job(number, sizeof(number), job_id(spank));
  if (usage_of_job(number, usage, sizeof(usage))) comment_on_job(job_id(spank), usage);
  return 0;
}
