// What plugstack.conf says of the plugin, and sizes.
#pragma once

enum { kName = 64, kPath = 512 };

struct settings {
  char reveza[kPath];
  char socket[kPath];
  char start[kPath];  // the daemon, or empty: something else starts it
  char group[kName];  // whose members may use the daemon that is started
  char scontrol[kPath];
  double card;   // bytes; 0: unknown
  double shard;  // bytes; 0: shards are not looked at
};

extern struct settings settings;

// Reads a size such as 8 (GiB), 512MiB or 1.5GB. Returns 0 if it is none.
double read_size(const char *text);

// Reads one word of plugstack.conf, NAME=VALUE. Returns -1 if it is wrong.
int read_setting(const char *word);
