#include <algorithm>
#include <cstddef>
#include <utility>

#include "reveza/insight/monitor/screen.h"

namespace reveza::monitor {
namespace {

constexpr std::ptrdiff_t kRowsPerPage = 10;

std::ptrdiff_t SelectedIndex(const ViewState& state, const std::vector<Row>& rows) {
  const auto found = std::ranges::find(rows, state.selected, &Row::key);
  return found == rows.end() ? 0 : found - rows.begin();
}

void Select(ViewState& state, const std::vector<Row>& rows, std::ptrdiff_t index) {
  if (rows.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(rows.size()) - 1;
  state.selected = rows[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(index, 0, last))].key;
}

void TypeFilter(ViewState& state, const KeyPress& press) {
  std::string& filter = state.table.filter;
  if (press.key == Key::kEnter) state.typing_filter = false;
  if (press.key == Key::kEscape) {
    state.typing_filter = false;
    filter.clear();
  }
  if (press.key == Key::kErase && !filter.empty()) {
    // Erase all bytes of a UTF-8 character.
    while (filter.size() > 1 && (static_cast<unsigned char>(filter.back()) & 0xc0) == 0x80) {
      filter.pop_back();
    }
    filter.pop_back();
  }
  if (press.key == Key::kCharacter && press.character >= U' ') {
    filter += ToUtf8(std::u32string_view(&press.character, 1));
  }
}

KeyAction AnswerQuestion(ViewState& state, const KeyPress& press) {
  KeyAction action;
  if (press.key == Key::kCharacter && (press.character == U'y' || press.character == U'Y')) {
    action.request = state.pending_request;
    action.socket = state.pending_socket;
  }
  state.question.clear();
  state.pending_request.clear();
  state.pending_socket.clear();
  return action;
}

KeyAction RequestForRow(ViewState& state, const std::vector<Row>& rows,
                        const std::string& request) {
  if (rows.empty()) return {};
  const Row& row = rows[static_cast<std::size_t>(SelectedIndex(state, rows))];
  if (row.socket.empty()) {
    state.message = "cannot " + request + " " + row.name + ": not part of a job";
    return {};
  }
  if (request != "cancel") return {false, request, row.socket};
  state.question = "cancel job " + row.job + "?";
  state.pending_request = request;
  state.pending_socket = row.socket;
  return {};
}

void ChangeSortColumn(ViewState& state, int step) {
  const int now = static_cast<int>(state.table.sort);
  state.table.sort = static_cast<Column>((now + step + kColumns) % kColumns);
  state.message = "sorted by " + std::string(ToText(state.table.sort));
}

KeyAction HandleCharacter(ViewState& state, char32_t letter, const std::vector<Row>& rows) {
  switch (letter) {
    case U'q':
      return {true, "", ""};
    case U'?':
    case U'h':
      state.help = !state.help;
      break;
    case U's':
      ChangeSortColumn(state, 1);
      break;
    case U'S':
      ChangeSortColumn(state, -1);
      break;
    case U'v':
      state.table.reverse = !state.table.reverse;
      break;
    case U't':
      state.table.tree = !state.table.tree;
      break;
    case U'/':
      state.typing_filter = true;
      break;
    case U'k':
      Select(state, rows, SelectedIndex(state, rows) - 1);
      break;
    case U'j':
      Select(state, rows, SelectedIndex(state, rows) + 1);
      break;
    case U'p':
      return RequestForRow(state, rows, "pause");
    case U'r':
      return RequestForRow(state, rows, "resume");
    case U'c':
      return RequestForRow(state, rows, "cancel");
    default:
      break;
  }
  return {};
}

}  // namespace

KeyAction HandleKey(ViewState& state, const KeyPress& press, const std::vector<Row>& rows) {
  state.message.clear();
  if (!state.question.empty()) return AnswerQuestion(state, press);
  if (state.typing_filter) {
    TypeFilter(state, press);
    return {};
  }
  if (press.key == Key::kCharacter) return HandleCharacter(state, press.character, rows);
  if (press.key == Key::kEscape && !std::exchange(state.help, false)) state.table.filter.clear();
  const auto all = static_cast<std::ptrdiff_t>(rows.size());
  const std::pair<Key, std::ptrdiff_t> moves[] = {{Key::kUp, -1},
                                                  {Key::kDown, 1},
                                                  {Key::kPageUp, -kRowsPerPage},
                                                  {Key::kPageDown, kRowsPerPage},
                                                  {Key::kHome, -all},
                                                  {Key::kEnd, all}};
  for (const auto& [key, rows_down] : moves) {
    if (key == press.key) Select(state, rows, SelectedIndex(state, rows) + rows_down);
  }
  return {};
}

}  // namespace reveza::monitor
