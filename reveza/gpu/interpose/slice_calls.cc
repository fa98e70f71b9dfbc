// What libreveza.so exports for programs that know of it (include/reveza.h).
#include "reveza/gpu/interpose/client.h"

#define REVEZA_EXPORT extern "C" __attribute__((visibility("default")))

using reveza::interpose::Client;

REVEZA_EXPORT void revezaYield() {
  if (Client* client = Client::Get()) client->Yield();
}

REVEZA_EXPORT void revezaHold() {
  if (Client* client = Client::Get()) client->Hold(true);
}

REVEZA_EXPORT void revezaRelease() {
  if (Client* client = Client::Get()) client->Hold(false);
}
