// All messages.
#pragma once

#include "reveza/gpu/wire/client_messages.h"
#include "reveza/gpu/wire/command_messages.h"
#include "reveza/gpu/wire/daemon_messages.h"
#include "reveza/gpu/wire/protocol.h"
