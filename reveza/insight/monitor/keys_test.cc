#include <gtest/gtest.h>

#include "reveza/insight/monitor/screen.h"
#include "reveza/insight/monitor/testing_snapshot.h"

namespace reveza::monitor {
namespace keys_test {

class Keys : public testing::Test {
 protected:
  std::vector<Row> rows() const { return Rows(TestingSnapshot(), state_.table); }
  KeyAction Type(std::string_view letters) {
    KeyAction action;
    for (const char letter : letters) {
      action = HandleKey(state_, {Key::kCharacter, static_cast<char32_t>(letter)}, rows());
    }
    return action;
  }
  KeyAction Type(Key key) { return HandleKey(state_, {key, 0}, rows()); }

  ViewState state_;
};

TEST_F(Keys, Quit) {
  EXPECT_TRUE(Type("q").quit);
  EXPECT_FALSE(Type("x").quit);
}

TEST_F(Keys, SelectWithinTheTable) {
  Type(Key::kDown);
  EXPECT_EQ(state_.selected, "step sweep-3f2a/57");
  Type(Key::kUp);
  Type(Key::kUp);
  EXPECT_EQ(state_.selected, "job sweep-3f2a");
  Type(Key::kPageDown);
  EXPECT_EQ(state_.selected, rows().back().key);
  Type("k");
  EXPECT_EQ(state_.selected, rows()[rows().size() - 2].key);
  Type(Key::kHome);
  EXPECT_EQ(state_.selected, "job sweep-3f2a");
  Type(Key::kEnd);
  EXPECT_EQ(state_.selected, rows().back().key);
  ViewState nothing;
  HandleKey(nothing, {Key::kDown, 0}, {});
  EXPECT_EQ(nothing.selected, "");
}

TEST_F(Keys, CycleThroughSortColumns) {
  Type("s");
  EXPECT_EQ(state_.table.sort, Column::kPid);
  EXPECT_EQ(state_.message, "sorted by pid");
  Type("SS");
  EXPECT_EQ(state_.table.sort, Column::kIo);
  Type("s");
  EXPECT_EQ(state_.table.sort, Column::kOrder);
  Type("vt");
  EXPECT_TRUE(state_.table.reverse);
  EXPECT_FALSE(state_.table.tree);
}

TEST_F(Keys, EditTheFilter) {
  EXPECT_FALSE(Type("/seq").quit) << "q is text here";
  EXPECT_EQ(state_.table.filter, "seq");
  Type(Key::kErase);
  EXPECT_EQ(state_.table.filter, "se");
  Type(Key::kEnter);
  EXPECT_FALSE(state_.typing_filter);
  EXPECT_EQ(state_.table.filter, "se");
  Type(Key::kEscape);
  EXPECT_EQ(state_.table.filter, "");
  Type("/");
  HandleKey(state_, {Key::kCharacter, U'ã'}, {});
  EXPECT_EQ(state_.table.filter, "ã");
  Type(Key::kErase);
  EXPECT_EQ(state_.table.filter, "") << "both bytes are erased";
  Type(Key::kErase);
  Type("x");
  Type(Key::kEscape);
  EXPECT_EQ(state_.table.filter, "");
  EXPECT_FALSE(state_.typing_filter);
}

TEST_F(Keys, PauseAndResumeTheSelectedJob) {
  Type(Key::kDown);
  auto action = Type("p");
  EXPECT_EQ(action.request, "pause");
  EXPECT_EQ(action.socket, "/run/user/1000/reveza/jobs/sweep-3f2a.sock");
  EXPECT_EQ(Type("r").request, "resume");
}

TEST_F(Keys, CancelAfterConfirmation) {
  EXPECT_EQ(Type("c").request, "");
  EXPECT_EQ(state_.question, "cancel job sweep-3f2a?");
  EXPECT_EQ(Type("n").request, "");
  EXPECT_EQ(state_.question, "");
  EXPECT_EQ(Type("y").request, "") << "no question is open";
  Type("c");
  EXPECT_EQ(Type(Key::kEnter).request, "") << "only y confirms";
  Type("c");
  const auto action = Type("y");
  EXPECT_EQ(action.request, "cancel");
  EXPECT_EQ(action.socket, "/run/user/1000/reveza/jobs/sweep-3f2a.sock");
}

TEST_F(Keys, CannotPauseExternalProcesses) {
  Type(Key::kEnd);
  EXPECT_EQ(Type("p").request, "");
  EXPECT_NE(state_.message.find("Xorg"), std::string::npos);
  Type("x");
  EXPECT_EQ(state_.message, "");
}

TEST_F(Keys, ToggleHelp) {
  Type("?");
  EXPECT_TRUE(state_.help);
  Type(Key::kEscape);
  EXPECT_FALSE(state_.help);
}

}  // namespace keys_test
}  // namespace reveza::monitor
