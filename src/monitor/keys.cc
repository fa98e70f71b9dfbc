#include "monitor/keys.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "monitor/text.h"

namespace reveza::monitor {
namespace {

constexpr std::ptrdiff_t kPage = 10;

std::ptrdiff_t ChosenIndex(const ViewState& state, const std::vector<Row>& rows) {
  const auto found = std::ranges::find(rows, state.selected, &Row::key);
  return found == rows.end() ? 0 : found - rows.begin();
}

void Choose(ViewState& state, const std::vector<Row>& rows, std::ptrdiff_t index) {
  if (rows.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(rows.size()) - 1;
  state.selected = rows[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(index, 0, last))].key;
}

void TypeFilter(ViewState& state, const KeyPress& press) {
  std::string& filter = state.arrangement.filter;
  if (press.key == Key::kEnter) state.typing_filter = false;
  if (press.key == Key::kEscape) {
    state.typing_filter = false;
    filter.clear();
  }
  if (press.key == Key::kErase && !filter.empty()) {
    // A letter of UTF-8 goes as a whole.
    while (filter.size() > 1 && (static_cast<unsigned char>(filter.back()) & 0xc0) == 0x80) {
      filter.pop_back();
    }
    filter.pop_back();
  }
  if (press.key == Key::kLetter && press.letter >= U' ') {
    filter += ToUtf8(std::u32string_view(&press.letter, 1));
  }
}

Wish AnswerQuestion(ViewState& state, const KeyPress& press) {
  Wish wish;
  if (press.key == Key::kLetter && (press.letter == U'y' || press.letter == U'Y')) {
    wish.request = state.asked_request;
    wish.socket = state.asked_socket;
  }
  state.question.clear();
  state.asked_request.clear();
  state.asked_socket.clear();
  return wish;
}

Wish AskJob(ViewState& state, const std::vector<Row>& rows, const std::string& request) {
  if (rows.empty()) return {};
  const Row& row = rows[static_cast<std::size_t>(ChosenIndex(state, rows))];
  if (row.socket.empty()) {
    state.message = row.name + " is part of no job: nobody can " + request + " it from here";
    return {};
  }
  if (request != "cancel") return {false, request, row.socket};
  state.question = "cancel job " + row.job + "?";
  state.asked_request = request;
  state.asked_socket = row.socket;
  return {};
}

void SortByNext(ViewState& state, int step) {
  const int now = static_cast<int>(state.arrangement.sort);
  state.arrangement.sort = static_cast<Column>((now + step + kColumns) % kColumns);
  state.message = "by " + std::string(ToText(state.arrangement.sort));
}

Wish PressLetter(ViewState& state, char32_t letter, const std::vector<Row>& rows) {
  switch (letter) {
    case U'q':
      return {true, "", ""};
    case U'?':
    case U'h':
      state.help = !state.help;
      break;
    case U's':
      SortByNext(state, 1);
      break;
    case U'S':
      SortByNext(state, -1);
      break;
    case U'v':
      state.arrangement.reverse = !state.arrangement.reverse;
      break;
    case U't':
      state.arrangement.tree = !state.arrangement.tree;
      break;
    case U'/':
      state.typing_filter = true;
      break;
    case U'k':
      Choose(state, rows, ChosenIndex(state, rows) - 1);
      break;
    case U'j':
      Choose(state, rows, ChosenIndex(state, rows) + 1);
      break;
    case U'p':
      return AskJob(state, rows, "pause");
    case U'r':
      return AskJob(state, rows, "resume");
    case U'c':
      return AskJob(state, rows, "cancel");
    default:
      break;
  }
  return {};
}

}  // namespace

Wish Press(ViewState& state, const KeyPress& press, const std::vector<Row>& rows) {
  state.message.clear();
  if (!state.question.empty()) return AnswerQuestion(state, press);
  if (state.typing_filter) {
    TypeFilter(state, press);
    return {};
  }
  const std::ptrdiff_t now = ChosenIndex(state, rows);
  switch (press.key) {
    case Key::kLetter:
      return PressLetter(state, press.letter, rows);
    case Key::kUp:
      Choose(state, rows, now - 1);
      break;
    case Key::kDown:
      Choose(state, rows, now + 1);
      break;
    case Key::kPageUp:
      Choose(state, rows, now - kPage);
      break;
    case Key::kPageDown:
      Choose(state, rows, now + kPage);
      break;
    case Key::kHome:
      Choose(state, rows, 0);
      break;
    case Key::kEnd:
      Choose(state, rows, static_cast<std::ptrdiff_t>(rows.size()));
      break;
    case Key::kEscape:
      if (!std::exchange(state.help, false)) state.arrangement.filter.clear();
      break;
    case Key::kEnter:
    case Key::kErase:
      break;
  }
  return {};
}

}  // namespace reveza::monitor
