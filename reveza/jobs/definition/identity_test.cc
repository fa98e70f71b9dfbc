#include "reveza/jobs/definition/identity.h"

#include <gtest/gtest.h>

#include <set>

#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace identity_test {

Job Simulate(std::vector<std::string> seeds) {
  Job job;
  auto& command = job.commands.emplace_back();
  command.arguments = {"./simulate", "--seed", "{seed}"};
  command.folder = "/data";
  for (std::string& seed : seeds) {
    job.steps.emplace_back().parameters = {{"seed", std::move(seed)}};
  }
  return job;
}

std::optional<std::string> NoVariables(const char*) { return std::nullopt; }

std::vector<Identity> Of(const Job& job, const platform::Environment& environment = NoVariables) {
  FileHashCache files;
  auto identities = ComputeIdentities(job, files, environment);
  EXPECT_TRUE(identities) << identities.error().message;
  return identities.value_or(std::vector<Identity>{});
}

Identity First(const Job& job) { return Of(job).at(0); }

TEST(Identity, IsStableAcrossReleases) {
  // Journals store identities: a change here would rerun every finished step.
  EXPECT_EQ(FormatIdentity(First(Simulate({"1"}))), "63c39ebbda32b9c90dcbaa39cf766fff");
}

TEST(Identity, FormatsAndParses) {
  const Identity identity = {0, 0, 0, 0, 0, 0, 0, 0x12, 0, 0, 0, 0, 0, 0, 0x0a, 0xbc};
  EXPECT_EQ(FormatIdentity(identity), "00000000000000120000000000000abc");
  EXPECT_EQ(ParseIdentity(FormatIdentity(identity)), identity);
  for (const std::string_view text :
       {"", "12", "0000000000000012000000000000zabc", "000000000000001200000000000000abc",
        "-000000000000012000000000000-abc"}) {
    EXPECT_EQ(ParseIdentity(text), std::nullopt) << text;
  }
}

TEST(Identity, DoesNotDependOnThePosition) {
  const auto one = Of(Simulate({"1", "2", "3"}));
  const auto other = Of(Simulate({"3", "0", "1"}));
  EXPECT_EQ(one[0], other[2]);
  EXPECT_EQ(one[2], other[0]);
  EXPECT_NE(one[1], other[1]);
}

TEST(Identity, DistinguishesEqualSteps) {
  const auto three = Of(Simulate({"1", "1", "2", "1"}));
  EXPECT_EQ(std::set<Identity>(three.begin(), three.end()).size(), 4u);
  EXPECT_EQ(Of(Simulate({"1", "1"}))[1], three[1]);
  EXPECT_EQ(Of(Simulate({"2"}))[0], three[2]);
}

TEST(Identity, DependsOnCommandParametersFolderAndEnvironment) {
  const Identity was = First(Simulate({"1"}));
  Job job = Simulate({"2"});
  EXPECT_NE(First(job), was);
  job = Simulate({"1"});
  job.steps[0].parameters = {{"sead", "1"}};
  job.commands[0].arguments[2] = "{sead}";
  EXPECT_NE(First(job), was);
  job = Simulate({"1"});
  job.commands[0].arguments[2] = "1";
  EXPECT_NE(First(job), was) << "the unexpanded command counts";
  job = Simulate({"1"});
  job.commands[0].folder = "/other";
  EXPECT_NE(First(job), was);
  job = Simulate({"1"});
  job.commands[0].environment = {{"A", "1"}};
  EXPECT_NE(First(job), was);
  job = Simulate({"1"});
  job.steps[0].parameters = {{"seed", "1"}, {"more", "1"}};
  EXPECT_NE(First(job), was);
  Job shell = Simulate({"1"});
  shell.commands[0].arguments = {"true"};
  Job no_shell = shell;
  shell.commands[0].shell = true;
  EXPECT_NE(First(shell), First(no_shell));
}

TEST(Identity, DoesNotDependOnRunOptions) {
  Job job = Simulate({"1"});
  const Identity was = First(job);
  job.name = "other";
  job.commands[0].time_limit = std::chrono::seconds(5);
  job.commands[0].priority = 3;
  job.commands[0].claim.memory = kGiB;
  job.commands[0].cycles = Cycles{.count = 500, .chain = 10};
  EXPECT_EQ(First(job), was);
}

TEST(Identity, DoesNotDependOnTheOrderOfParametersAndVariables) {
  Job one = Simulate({"1"});
  one.steps[0].parameters = {{"seed", "1"}, {"more", "2"}};
  one.commands[0].environment = {{"A", "1"}, {"B", "2"}};
  Job other = one;
  other.steps[0].parameters = {{"more", "2"}, {"seed", "1"}};
  std::swap(other.commands[0].environment[0], other.commands[0].environment[1]);
  EXPECT_EQ(First(one), First(other));
}

TEST(Identity, SeparatesFields) {
  const auto with = [](std::vector<std::string> arguments, std::vector<Parameter> parameters) {
    Job job = Simulate({"1"});
    job.commands[0].arguments = std::move(arguments);
    job.steps[0].parameters = std::move(parameters);
    return First(job);
  };
  EXPECT_NE(with({"ab", "c"}, {}), with({"a", "bc"}, {}));
  EXPECT_NE(with({"ab", "c"}, {}), with({"abc"}, {}));
  EXPECT_NE(with({"ab", ""}, {}), with({"ab"}, {}));
  EXPECT_NE(with({"x"}, {{"a", "bc"}}), with({"x"}, {{"ab", "c"}}));
  EXPECT_NE(with({"x"}, {{"a", "1"}, {"b", ""}}), with({"x"}, {{"a", ""}, {"b", "1"}}));
}

TEST(Identity, DependsOnValuesAndAbsenceOfIdentityVariables) {
  Job job = Simulate({"1"});
  job.commands[0].identity_variables = {"MODEL"};
  const auto with = [&](std::optional<std::string> value) {
    return Of(job, [value](const char* name) {
      return std::string_view(name) == "MODEL" ? value : std::nullopt;
    })[0];
  };
  const std::set<Identity> all = {with("a"), with("b"), with(""), with(std::nullopt),
                                  First(Simulate({"1"}))};
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(with("a"), with("a"));
  const Identity was = with("a");
  job.commands[0].identity_variables = {"MODEL", "MODEL"};
  EXPECT_EQ(with("a"), was);
}

TEST(Identity, DependsOnInputContents) {
  platform::TestingDirectory folder;
  folder.Write("in", "one");
  Job job = Simulate({"1"});
  job.commands[0].folder = folder.path();
  const Identity without = First(job);
  job.commands[0].inputs = {"in"};
  const Identity one = First(job);
  EXPECT_NE(one, without);
  folder.Write("in", "two");
  EXPECT_NE(First(job), one);
  folder.Write("in", "one");
  EXPECT_EQ(First(job), one) << "modification times do not count";
}

TEST(Identity, HashesInputsOnce) {
  platform::TestingDirectory folder;
  folder.Write("in", "one");
  Job job = Simulate({"1", "2"});
  job.commands[0].inputs = {folder / "in"};
  FileHashCache files;
  ASSERT_TRUE(ComputeIdentities(job, files, NoVariables));
  ASSERT_EQ(files.files().size(), 1u);
  const auto [path, hash] = *files.files().begin();
  EXPECT_EQ(path, folder / "in");
  folder.Write("in", "changed");
  EXPECT_EQ(files.Hash(folder / "in"), hash) << "cached";
}

TEST(Identity, NamesTheMissingInput) {
  platform::TestingDirectory folder;
  Job job = Simulate({"1", "2"});
  job.commands[0].folder = folder.path();
  job.commands[0].inputs = {"{seed}.txt"};
  folder.Write("1.txt", "");
  auto identities = ComputeIdentities(job);
  ASSERT_FALSE(identities);
  EXPECT_EQ(identities.error().code, Error::Code::kNotFound);
  EXPECT_EQ(
      identities.error().message,
      "step 2: input: cannot read " + (folder / "2.txt").string() + ": No such file or directory");
  job.steps[1].after = {0};
  identities = ComputeIdentities(job);
  ASSERT_FALSE(identities);
  EXPECT_NE(identities.error().message.find("earlier steps"), std::string::npos);
  job.commands[0].inputs = {"."};
  EXPECT_EQ(ComputeIdentities(job).error().code, Error::Code::kInvalidArgument);
}

TEST(FindProgram, ResolvesAsExecvpDoes) {
  platform::TestingDirectory folder;
  folder.Write("bin/tool", "#!/bin/sh\n");
  folder.Write("bin/text", "text");
  std::filesystem::create_directories(folder / "first/tool");
  std::filesystem::permissions(folder / "bin/tool", std::filesystem::perms::owner_all);
  const std::string path = (folder / "first").string() + "::" + (folder / "bin").string();
  EXPECT_EQ(FindProgram("tool", "/", path), folder / "bin/tool") << "a folder is not a program";
  EXPECT_EQ(FindProgram("./tool", folder / "bin", ""), folder / "bin/./tool");
  EXPECT_EQ(FindProgram((folder / "bin/tool").string(), "/", ""), folder / "bin/tool");
  EXPECT_EQ(FindProgram("none", "/", path).error().code, Error::Code::kNotFound);
  EXPECT_EQ(FindProgram("", "/", path).error().code, Error::Code::kNotFound);
  EXPECT_EQ(FindProgram("./none", "/", path).error().code, Error::Code::kNotFound);
  EXPECT_EQ(FindProgram("bin", folder.path(), "").error().code, Error::Code::kNotFound);
  EXPECT_EQ(FindProgram("text", "/", path).error().code, Error::Code::kNotFound);
  EXPECT_EQ(FindProgram("bin/text", folder.path(), "").error().code, Error::Code::kPermission);
}

TEST(DefaultName, CombinesProgramAndCommandHash) {
  const auto name = [](std::vector<std::string> arguments, bool shell = false) {
    Job job;
    job.commands.emplace_back().arguments = std::move(arguments);
    job.commands[0].shell = shell;
    return DefaultName(job);
  };
  const auto slug = [&](std::vector<std::string> arguments, bool shell = false) {
    const std::string whole = name(std::move(arguments), shell);
    EXPECT_EQ(whole.find_last_of('-') + 9, whole.size()) << whole;
    return whole.substr(0, whole.find_last_of('-'));
  };
  EXPECT_EQ(slug({"./simulate", "{seed}"}), "simulate");
  EXPECT_EQ(slug({"/usr/bin/python3.11", "src/Train_Model.py"}), "train-model");
  EXPECT_EQ(slug({"python3", "-m", "x"}), "python3");
  EXPECT_EQ(slug({"bashful", "x"}), "bashful");
  EXPECT_EQ(slug({"  sort -n < {file}"}, true), "sort");
  EXPECT_EQ(slug({"{program}"}), "program");
  EXPECT_EQ(slug({"***"}), "job");
  EXPECT_EQ(slug({std::string(100, 'x')}), std::string(24, 'x'));
  EXPECT_NE(name({"a", "b"}), name({"a", "c"}));
  EXPECT_EQ(name({"a", "b"}), name({"a", "b"}));
  EXPECT_EQ(DefaultName(Simulate({"1"})), DefaultName(Simulate({"1", "2"})));
}

TEST(Identity, IsUniqueForAHundredThousandSteps) {
  Job job = Simulate({});
  for (int i = 0; i < 100'000; ++i) {
    job.steps.emplace_back().parameters = {{"seed", std::to_string(i)}};
  }
  const auto identities = Of(job);
  EXPECT_EQ(std::set<Identity>(identities.begin(), identities.end()).size(), 100'000u);
}

}  // namespace identity_test
}  // namespace reveza::jobs
