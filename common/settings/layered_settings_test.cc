#include "common/settings/layered_settings.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace reveza {
namespace layered_settings_test {

struct Values {
  std::string name = "none";
  std::string work_dir = "/";
};

struct Entry {
  struct {
    std::string_view key;
  } info;
  Status (*parse)(Values&, std::string_view);
};

Status ParseName(Values& values, std::string_view text) {
  if (text.empty()) return InvalidArgument("'' is invalid");
  values.name = text;
  return {};
}

Status ParseWorkDir(Values& values, std::string_view text) {
  values.work_dir = text;
  return {};
}

constexpr std::array<Entry, 2> kTable = {{{{"name"}, ParseName}, {{"work_dir"}, ParseWorkDir}}};

TEST(LayeredSettings, KeepsValueAndOriginOfTheLastLayer) {
  LayeredSettings<Values, Entry> settings(kTable, "program config");
  EXPECT_EQ(settings.OriginOf("name").layer, Layer::kDefault);
  EXPECT_EQ(settings.OriginOf("name").place, "default");
  ASSERT_TRUE(settings.Set("name", "ana", {Layer::kFile, "my.toml:3"}));
  ASSERT_TRUE(settings.SetOption("work_dir", "/tmp"));
  EXPECT_EQ(settings.values().name, "ana");
  EXPECT_EQ(settings.OriginOf("name").place, "my.toml:3");
  EXPECT_EQ(settings.OriginOf("work_dir").layer, Layer::kCommandLine);
  EXPECT_EQ(settings.OriginOf("work_dir").place, "--work-dir");
}

TEST(LayeredSettings, RejectedValueChangesNeitherValueNorOrigin) {
  LayeredSettings<Values, Entry> settings(kTable, "program config");
  const Status in_file = settings.Set("name", "", {Layer::kFile, "my.toml:3"});
  ASSERT_FALSE(in_file);
  EXPECT_EQ(in_file.error().message, "my.toml:3: name: '' is invalid");
  const Status option = settings.SetOption("name", "");
  ASSERT_FALSE(option);
  EXPECT_EQ(option.error().message, "--name: '' is invalid");
  EXPECT_EQ(settings.values().name, "none");
  EXPECT_EQ(settings.OriginOf("name").layer, Layer::kDefault);
}

TEST(LayeredSettings, UnknownKeySuggestsTheNearest) {
  LayeredSettings<Values, Entry> settings(kTable, "program config");
  const Status near = settings.Set("nam", "x", {Layer::kFile, "f:1"});
  ASSERT_FALSE(near);
  EXPECT_TRUE(near.error().message.starts_with("f:1: ")) << near.error().message;
  EXPECT_TRUE(near.error().message.contains("'name'")) << near.error().message;
  const Status far = settings.SetOption("weather", "x");
  ASSERT_FALSE(far);
  EXPECT_TRUE(far.error().message.contains("program config")) << far.error().message;
}

}  // namespace layered_settings_test
}  // namespace reveza
