// `reveza demo`: three programs, together larger than the card, alone and then together.
#pragma once

namespace reveza::cli {

// The exit status. Leaves no processes and no files behind, also when it is interrupted.
int Demo(bool as_json);

}  // namespace reveza::cli
