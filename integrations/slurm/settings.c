#define _GNU_SOURCE
#include "settings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct settings settings = {.reveza = "/usr/bin/reveza",
                            .socket = "/run/reveza/revezad.sock",
                            .scontrol = "/usr/bin/scontrol"};

double read_size(const char *text) {
  static const struct {
    const char *name;
    double bytes;
  } units[] = {{"", 1 << 30}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1ULL << 40},
               {"MB", 1e6},   {"GB", 1e9},      {"TB", 1e12}};
  char *end = NULL;
  if (text == NULL || !isdigit((unsigned char)text[0])) return 0;
  const double number = strtod(text, &end);
  for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); ++i) {
    const double bytes = number * units[i].bytes;
    if (strcasecmp(end, units[i].name) == 0) return bytes >= 1 && bytes < 1e18 ? bytes : 0;
  }
  return 0;
}

static int set_text(char *to, size_t size, const char *value) {
  return snprintf(to, size, "%s", value) < (int)size ? 0 : -1;
}

int read_setting(const char *word) {
  const char *value = strchr(word, '=');
  if (value == NULL) return -1;
  const size_t length = (size_t)(value++ - word);
  const struct {
    const char *name;
    char *text;
    size_t size;
    double *bytes;
  } known[] = {{"reveza", settings.reveza, sizeof(settings.reveza), NULL},
               {"socket", settings.socket, sizeof(settings.socket), NULL},
               {"start", settings.start, sizeof(settings.start), NULL},
               {"group", settings.group, sizeof(settings.group), NULL},
               {"scontrol", settings.scontrol, sizeof(settings.scontrol), NULL},
               {"card", NULL, 0, &settings.card},
               {"shard", NULL, 0, &settings.shard}};
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
    if (strlen(known[i].name) != length || strncmp(known[i].name, word, length) != 0) continue;
    if (known[i].text != NULL) return set_text(known[i].text, known[i].size, value);
    *known[i].bytes = read_size(value);
    return *known[i].bytes > 0 ? 0 : -1;
  }
  return -1;
}
