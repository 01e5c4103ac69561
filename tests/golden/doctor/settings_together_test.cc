// Several settings in one log: only those whose removal makes the time fall are named, and the
// figure is that of the cure.
#include <gmock/gmock.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::ElementsAre;

class SettingsTogether : public Pile {
 protected:
  // The example of a forced algorithm (32 DGX H100), with other settings and one size called.
  json forced(const std::vector<std::string>& settings) {
    const fs::path from = fs::path(COMM_PROBE_SOURCE_DIR) / "examples/forced-algorithm";
    fs::remove_all(folder() + "/p");
    fs::copy(from, folder() + "/p", fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(folder() + "/p"))
      if (entry.is_regular_file()) rewrite(entry.path(), settings);
    const json document = told({folder() + "/p"});
    for (const json& finding : document["findings"])
      if (finding["id"] == "nccl.choice-forced") return finding;
    return json::object();
  }
  static std::vector<std::string> unset_by(const json& finding) {
    std::vector<std::string> names;
    if (!finding.contains("next")) return names;
    for (const json& next : finding["next"])
      if (next.get<std::string>().starts_with("unset ")) names.push_back(next);
    return names;
  }
  static double gained(const json& finding) {
    return finding["observed"]["value"].get<double>() / finding["expected"]["value"].get<double>();
  }

 private:
  static void rewrite(const fs::path& path, const std::vector<std::string>& settings) {
    std::ifstream in(path);
    std::string text;
    for (std::string line; std::getline(in, line);) {
      const std::size_t at = line.find("NCCL_ALGO set by environment");
      if (at == std::string::npos) {
        text += line + "\n";
        continue;
      }
      for (const std::string& setting : settings) {
        const std::size_t equals = setting.find('=');
        text += line.substr(0, at) + setting.substr(0, equals) + " set by environment to " +
                setting.substr(equals + 1) + "\n";
      }
    }
    in.close();
    std::ofstream(path) << text;
  }
};

TEST_F(SettingsTogether, AnInnocentOneIsNotNamed) {
  const json alone = forced({"NCCL_ALGO=Ring"});
  ASSERT_THAT(unset_by(alone), ElementsAre("unset NCCL_ALGO")) << alone;
  for (const char* other : {"NCCL_MIN_NCHANNELS=32", "NCCL_MAX_NCHANNELS=2"}) {
    const json both = forced({"NCCL_ALGO=Ring", other});
    EXPECT_THAT(unset_by(both), ElementsAre("unset NCCL_ALGO")) << both;
    EXPECT_DOUBLE_EQ(gained(both), gained(alone)) << other;
  }
}

// The figure is reached by leaving out exactly those that are named: without NVLS there is no
// NVLSTree to gain from.
TEST_F(SettingsTogether, TheCureGivesTheFigure) {
  const json forbidden = forced({"NCCL_ALGO=Ring", "NCCL_NVLS_ENABLE=0"});
  EXPECT_THAT(unset_by(forbidden), ElementsAre("unset NCCL_ALGO", "unset NCCL_NVLS_ENABLE"))
      << forbidden;
  const json both = forced({"NCCL_ALGO=Ring", "NCCL_PROTO=Simple"});
  ASSERT_THAT(unset_by(both), ElementsAre("unset NCCL_ALGO", "unset NCCL_PROTO")) << both;
  EXPECT_TRUE(forced({"NCCL_MIN_NCHANNELS=32"}).empty());
}

}  // namespace
}  // namespace comm_probe::test
