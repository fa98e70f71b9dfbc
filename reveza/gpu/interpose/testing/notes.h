// Records the calls of the generated default hooks (hook_defaults.cc), per thread.
#pragma once

namespace reveza::interpose::testing {

// Called by each default hook before it calls the driver; `name` has no version or suffix.
void NoteHook(const char* name);
// Returns the last name recorded on this thread; "" if none.
const char* LastHook();

}  // namespace reveza::interpose::testing
