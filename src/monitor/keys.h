// What a key does: changes what is shown, or makes a wish for a job. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "monitor/rows.h"
#include "monitor/screen.h"
#include "monitor/snapshot.h"

namespace reveza::monitor {

enum class Key { kLetter, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kEnter, kEscape, kErase };

struct KeyPress {
  Key key = Key::kLetter;
  char32_t letter = 0;  // of kLetter
};

// What is to be done besides.
struct Wish {
  bool quit = false;
  std::string request;  // for the runner at `socket`; empty: none
  std::string socket;
};

// `rows`: what is shown now, in this order. A request that cannot be made says why in the message.
Wish Press(ViewState& state, const KeyPress& press, const std::vector<Row>& rows);

}  // namespace reveza::monitor
