// What the generated hooks without a body (hook_defaults.cc) tell a test.
// Thread-safety: each thread has its own notes.
#pragma once

namespace reveza::interpose::testing {

// `name`, without version or suffix, was called; it calls the driver next.
void NoteHook(const char* name);
const char* LastHook();

}  // namespace reveza::interpose::testing
