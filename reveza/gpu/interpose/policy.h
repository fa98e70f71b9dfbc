// The policy that `reveza run` sets for this process, in REVEZA_POLICY. Libc only.
#pragma once

#include "reveza/gpu/wire/messages.h"

namespace reveza::interpose {

// Parses "weight=200,priority=2,interactive=1,request=BYTES,limit=BYTES", each part optional
// (weight in 1/kWeightUnit; request and limit belong together). Other parts and values are ignored,
// since a program must not fail for them. No fields: the daemon decides.
wire::Policy ParsePolicy(const char* text);

}  // namespace reveza::interpose
