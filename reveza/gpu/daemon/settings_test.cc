#include "reveza/gpu/daemon/settings.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "common/platform/testing_directory.h"

namespace reveza::daemon {
namespace settings_test {

platform::Environment With(std::map<std::string, std::string> values) {
  return [values](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

std::string ErrorOf(const Status& status) { return status ? "" : status.error().message; }

TEST(Configuration, LaterLayersOverrideEarlierOnes) {
  Configuration configuration;
  EXPECT_EQ(configuration.OriginOf("gpu_budget"), "default");
  EXPECT_EQ(configuration.ValueOf("gpu_budget"), "automatic");
  ASSERT_TRUE(configuration.AddText("# mine\ngpu_budget = \"24GiB\"\nlinger = \"5s\"\n", "c.toml"));
  EXPECT_EQ(configuration.settings().gpu_budget, 24 * kGiB);
  EXPECT_EQ(configuration.OriginOf("gpu_budget"), "c.toml:2");
  ASSERT_TRUE(configuration.AddEnvironment(With({{"REVEZA_GPU_BUDGET", "8GiB"}})));
  EXPECT_EQ(configuration.settings().gpu_budget, 8 * kGiB);
  EXPECT_EQ(configuration.OriginOf("gpu_budget"), "REVEZA_GPU_BUDGET");
  ASSERT_TRUE(configuration.AddFlag("gpu_budget", "2GiB"));
  EXPECT_EQ(configuration.ValueOf("gpu_budget"), "2 GiB");
  EXPECT_EQ(configuration.OriginOf("gpu_budget"), "--gpu-budget");
  EXPECT_EQ(configuration.OriginOf("linger"), "c.toml:3");
  EXPECT_TRUE(configuration.Check());
}

TEST(Configuration, EveryExampleIsValid) {
  for (const SettingInfo& info : AllSettings()) {
    Configuration configuration;
    EXPECT_TRUE(configuration.AddFlag(info.key, info.example)) << info.key;
    EXPECT_NE(configuration.ValueOf(info.key), "automatic") << info.key;
    Configuration by_environment;
    EXPECT_TRUE(by_environment.AddEnvironment(
        With({{std::string(info.environment), std::string(info.example)}})));
    EXPECT_EQ(by_environment.OriginOf(info.key), info.environment);
  }
}

TEST(Configuration, EnvironmentAcceptsPlainBytes) {
  Configuration configuration;
  ASSERT_TRUE(configuration.AddEnvironment(With({{"REVEZA_GPU_BUDGET", "1048576"}})));
  EXPECT_EQ(configuration.settings().gpu_budget, kMiB);
}

TEST(Configuration, ErrorsNameLocationAndRemedy) {
  Configuration c;
  EXPECT_EQ(ErrorOf(c.AddText("\ngpu_buget = \"1GiB\"", "f")),
            "f:2: unknown key 'gpu_buget'; did you mean 'gpu_budget'?");
  EXPECT_TRUE(
      ErrorOf(c.AddText("weather = \"fine\"", "f")).starts_with("f:1: unknown key 'weather'"));
  EXPECT_TRUE(ErrorOf(c.AddText("gpu_budget = 24", "f")).starts_with("f:1: gpu_budget: '24'"));
  EXPECT_TRUE(ErrorOf(c.AddText("linger = true", "f")).starts_with("f:1: linger: 'true'"));
  EXPECT_TRUE(ErrorOf(c.AddText("linger = [1]", "f")).starts_with("f:1: linger must be"));
  EXPECT_TRUE(
      ErrorOf(c.AddText("handover_share = 2.0", "f")).starts_with("f:1: handover_share: '2'"));
  EXPECT_TRUE(ErrorOf(c.AddText("linger = \"60s\"\nlinger", "f")).starts_with("f:2:"));
  EXPECT_TRUE(ErrorOf(c.AddFlag("linger", "soon")).starts_with("--linger: 'soon'"));
}

TEST(Configuration, RejectsWhatIsNoSetting) {
  Configuration c;
  const std::string marked = "ce_cei\xcd\xaa\n";  // mishandled by toml++
  EXPECT_TRUE(ErrorOf(c.AddText(marked, "f")).starts_with("f:1:"));
  EXPECT_TRUE(ErrorOf(c.AddText("\ngroup = \"\"\"a\nb\"\"\"", "f")).starts_with("f:2:"));
  EXPECT_TRUE(ErrorOf(c.AddText("linger = \"9s\"\n[\n[", "f")).starts_with("f:2:"));
  for (const char* line : {"= \"9s\"", "linger", "linger =", "linger = \"9s", "linger = \"9s\" x",
                           "a.b = 1", "x = [1, 2]", "linger = \"9s\\\""}) {
    EXPECT_TRUE(ErrorOf(c.AddText(line, "f")).starts_with("f:1:")) << line;
  }
  EXPECT_TRUE(c.AddText("  linger\t= '8s'  # eight\r\n\n\t# nothing\nhandover_share = 0.1", "f"));
  EXPECT_TRUE(c.AddText("group = \"grupo-\xc3\xa9 \\\" x\" # coment\xc3\xa1rio\n", "f"));
  EXPECT_EQ(c.settings().group, "grupo-\xc3\xa9 \" x");
}

TEST(Configuration, ValidatesCombinations) {
  Configuration c;
  ASSERT_TRUE(c.AddFlag("slice_floor", "40s"));
  const auto refused = c.Check();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("slice_ceiling"), std::string::npos);
  for (const auto& [key, value] : std::map<std::string, std::string>{{"slice_floor", "0s"},
                                                                     {"drain_limit", "2h"},
                                                                     {"queue_bound", "0s"},
                                                                     {"gpu_budget", "0B"}}) {
    Configuration wrong;
    ASSERT_TRUE(wrong.AddFlag(key, value)) << key;
    EXPECT_FALSE(wrong.Check()) << key;
  }
}

TEST(Configuration, MissingFileIsErrorOnlyIfRequired) {
  platform::TestingDirectory place;
  Configuration c;
  EXPECT_TRUE(c.AddFile(place / "none.toml", false));
  EXPECT_FALSE(c.AddFile(place / "none.toml", true));
  EXPECT_FALSE(c.AddFile(place.path(), false)) << "a directory";
  place.Write("some.toml", "linger = \"7s\"\n");
  EXPECT_TRUE(c.AddFile(place / "some.toml", false));
  EXPECT_EQ(c.settings().linger, std::chrono::seconds(7));
}

TEST(ConfigurationPath, FollowsTheEnvironment) {
  EXPECT_EQ(ConfigurationPath(With({{"REVEZA_CONFIG", "/a"}, {"HOME", "/h"}})), "/a");
  EXPECT_EQ(ConfigurationPath(With({{"XDG_CONFIG_HOME", "/x"}})), "/x/reveza/config.toml");
  EXPECT_EQ(ConfigurationPath(With({{"HOME", "/h"}})), "/h/.config/reveza/config.toml");
  EXPECT_FALSE(LoadConfiguration(With({{"REVEZA_CONFIG", "/no/such/file"}})));
  EXPECT_FALSE(LoadConfiguration(With({{"HOME", "/none"}, {"REVEZA_LINGER", "x"}})));
  EXPECT_TRUE(LoadConfiguration(With({{"HOME", "/none"}})));
}

}  // namespace settings_test
}  // namespace reveza::daemon
