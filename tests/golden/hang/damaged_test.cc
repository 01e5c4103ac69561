// The same recorded hangs with one dump cut, renamed or swapped: never "healthy", and no rank that
// the truth clears is named as certain.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run_binary.h"

namespace comm_probe::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kHang = fs::path(COMM_PROBE_SHARED) / "data/hang";
const fs::path kH200 = fs::path(COMM_PROBE_SHARED) / "data/h200/flight-recorder";

// A folder of its own for every test, removed with it.
class Damaged : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kHang)) GTEST_SKIP() << "no ../shared/data beside the checkout";
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The dumps of a case as NAME0, NAME1, ... from `first` on.
  void copy(const fs::path& from, const std::string& name = "rank_", int first = 0,
            const std::string& ending = "") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (int rank = 0; fs::exists(from / ("rank_" + std::to_string(rank))); ++rank) {
      fs::path to = folder_ / (name + std::to_string(first + rank) + ending);
      fs::create_directories(to.parent_path());
      fs::copy_file(from / ("rank_" + std::to_string(rank)), to);
      fs::permissions(to, fs::perms::owner_all);
      // taken long ago: a copy of today does not make the calls young
      fs::last_write_time(to, fs::file_time_type::clock::now() + std::chrono::hours(24 * 400));
    }
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  json verdict() {
    last_ = run_binary({"hang", folder_.string(), "--json"});
    return json::parse(last_.out).at("result").at("verdict");
  }

  fs::path folder_ = fs::temp_directory_path() / ("comm_probe_damaged_" + std::to_string(getpid()));
  BinaryRun last_ = {};
};

void cut_to(const std::string& path, double share) {
  const auto size = static_cast<double>(fs::file_size(path));
  fs::resize_file(path, static_cast<std::uintmax_t>(size * share));
}

std::vector<int> accepted_ranks(const json& truth) {
  auto accepted = truth.at("culprit_ranks").get<std::vector<int>>();
  for (const auto& ranks : truth.value("acceptable_culprits", std::vector<std::vector<int>>{}))
    accepted.insert(accepted.end(), ranks.begin(), ranks.end());
  return accepted;
}

void expect_honest(const json& truth, const json& verdict, const BinaryRun& run) {
  EXPECT_EQ(run.status, 1) << run;
  EXPECT_NE(verdict.at("class"), "healthy");
  const auto accepted = accepted_ranks(truth);
  for (const int rank : verdict.at("culprit_ranks"))
    if (std::count(accepted.begin(), accepted.end(), rank) == 0) {
      EXPECT_NE(verdict.at("confidence"), "certain") << "rank " << rank;
    }
}

TEST_F(Damaged, OneDumpIsCut) {
  for (const char* name : {"01_size_mismatch", "07_rank_exited_no_dump", "08_rank_stuck_cascade",
                           "09_p2p_missing_send", "10_p2p_both_send_first", "11_p2p_size_mismatch",
                           "12_order_inversion_two_groups"}) {
    const json truth = json::parse(std::ifstream(kHang / name / "truth.json"));
    copy(kHang / name / "pickle");
    const auto ranks = std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
    for (int rank = 0; rank < ranks; ++rank)
      for (const double share : {0.2, 0.8, 0.97}) {
        copy(kHang / name / "pickle");
        cut_to(file("rank_" + std::to_string(rank)), share);
        SCOPED_TRACE(std::string(name) + ", rank " + std::to_string(rank));
        const json found = verdict();
        expect_honest(truth, found, last_);
      }
  }
}

// Found by a review: the first rank's dump was what all others were held against.
TEST_F(Damaged, AnInnocentCutDumpHidesNoMismatch) {
  copy(kHang / "01_size_mismatch/pickle");
  fs::resize_file(file("rank_0"), 1500);
  const json found = verdict();
  EXPECT_EQ(found.at("class"), "param_mismatch");
  EXPECT_EQ(found.at("culprit_ranks"), json({2}));
  EXPECT_NE(found.at("confidence"), "certain");
}

TEST_F(Damaged, NamesWithOtherNumbers) {
  for (const auto& [name, first, ending] : std::vector<std::tuple<std::string, int, std::string>>{
           {"dump_", 10, ".bin"}, {"rank_", 0, ".20251129"}, {"host", 0, "/dump"}}) {
    copy(kHang / "01_size_mismatch/pickle", name, first, ending);
    SCOPED_TRACE(name + ending);
    const json found = verdict();
    EXPECT_EQ(found.at("class"), "param_mismatch") << last_;
    EXPECT_EQ(found.at("culprit_ranks"), json({2}));
  }
}

TEST_F(Damaged, SwappedFilesAreSeenByTheirMessages) {
  copy(kHang / "09_p2p_missing_send/pickle");
  fs::rename(file("rank_1"), file("x"));
  fs::rename(file("rank_2"), file("rank_1"));
  fs::rename(file("x"), file("rank_2"));
  const json truth = json::parse(std::ifstream(kHang / "09_p2p_missing_send/truth.json"));
  const json found = verdict();
  expect_honest(truth, found, last_);
  const auto accepted = accepted_ranks(truth);
  for (const int rank : found.at("culprit_ranks"))
    EXPECT_GT(std::count(accepted.begin(), accepted.end(), rank), 0) << rank;
  EXPECT_NE(last_.out.find("hang.rank-wrong"), std::string::npos);
}

TEST_F(Damaged, ADumpWithoutANameTakesTheRankThatIsLeft) {
  copy(kHang / "01_size_mismatch/pickle");
  fs::rename(file("rank_2"), file("dump"));
  EXPECT_EQ(verdict().at("culprit_ranks"), json({2}));
  for (const char* name : {"rank_0", "rank_1", "rank_3"}) fs::remove(file(name));
  const BinaryRun alone = run_binary({"hang", file("dump")});
  EXPECT_EQ(alone.status, 2);
  EXPECT_NE(alone.err.find("rank"), std::string::npos) << alone;
}

bool has_caveat(const json& document, const std::string& id) {
  const json& caveats = document.at("caveats");
  return std::any_of(caveats.begin(), caveats.end(),
                     [&](const json& caveat) { return caveat.at("id") == id; });
}

// Copies of one run change nothing; two runs in one directory are no certain verdict.
TEST_F(Damaged, TwoDumpsOfARank) {
  const fs::path run = kHang / "01_size_mismatch/pickle",
                 other = kHang / "05_count_skip_one_bucket/pickle";
  copy(run);
  EXPECT_EQ(verdict().at("confidence"), "certain");
  const auto add = [&](const fs::path& from) {
    fs::create_directories(folder_ / "old");
    for (int rank = 0; rank < 4; ++rank) {
      const fs::path to = folder_ / "old" / ("rank_" + std::to_string(rank));
      fs::copy_file(from / to.filename(), to, fs::copy_options::overwrite_existing);
      fs::permissions(to, fs::perms::owner_all);
    }
  };
  add(run);
  EXPECT_EQ(verdict().at("confidence"), "certain");
  EXPECT_TRUE(has_caveat(json::parse(last_.out), "hang.rank-twice"));
  add(other);
  EXPECT_EQ(verdict().at("confidence"), "likely");
}

// What is neither a dump nor text is named, not passed over in silence.
TEST_F(Damaged, FilesOfNoUseAreNamed) {
  copy(kHang / "01_size_mismatch/pickle");
  for (const std::string_view bytes :
       {std::string_view("\x89PNG\r\n\x1a\n\0\0", 10), std::string_view("[]")}) {
    std::ofstream(file("rank_1"), std::ios::binary) << bytes;
    const json result = verdict();
    const json document = json::parse(last_.out);
    EXPECT_TRUE(has_caveat(document, "input.unreadable")) << last_;
    EXPECT_NE(last_.out.find(file("rank_1")), std::string::npos);
    EXPECT_NE(result.at("confidence"), "certain");
    EXPECT_EQ(last_.out.find("left no dump"), std::string::npos);
  }
  std::ofstream(file("plot.png"), std::ios::binary)
      << std::string_view("\x89PNG\r\n\x1a\n\0\0", 10);
  verdict();
  EXPECT_TRUE(has_caveat(json::parse(last_.out), "input.passed-over")) << last_;
}

// Whatever is wrong with the file, the rank has left one: it is not accused of having left none.
TEST_F(Damaged, AnUnreadableDumpAccusesNobody) {
  const fs::path agreement = kHang / "14_network_all_agree_timing/pickle";
  for (const std::string& bytes : {std::string(), std::string("<html>404</html>"),
                                   std::string("\x80\x02cos\nsystem\n.", 13)}) {
    copy(agreement);
    std::ofstream(file("rank_3"), std::ios::binary) << bytes;
    const json result = verdict();
    EXPECT_TRUE(result.at("culprit_ranks").empty()) << last_;
    EXPECT_EQ(last_.out.find("left no dump"), std::string::npos) << last_;
  }
}

// What stands before the cut of a packed dump is used.
TEST_F(Damaged, APackedDumpThatIsCut) {
  copy(kHang / "01_size_mismatch/pickle");
  const std::string plain = file("rank_0");
  std::ostringstream bytes;
  bytes << std::ifstream(plain, std::ios::binary).rdbuf();
  fs::remove(plain);
  gzFile packed = gzopen((plain + ".gz").c_str(), "wb");
  gzwrite(packed, bytes.str().data(), static_cast<unsigned>(bytes.str().size()));
  gzclose(packed);
  fs::resize_file(plain + ".gz", fs::file_size(plain + ".gz") - 30);
  verdict();
  EXPECT_TRUE(has_caveat(json::parse(last_.out), "hang.dump-cut")) << last_;
  EXPECT_NE(last_.out.find("rank_0.gz\",\n      \"kind\": \"flight-recorder\""), std::string::npos);
}

TEST_F(Damaged, WhereAllDumpsAreCutNothingIsHealthy) {
  copy(kHang / "08_rank_stuck_cascade/pickle");
  for (int rank = 0; rank < 8; ++rank) cut_to(file("rank_" + std::to_string(rank)), 0.6);
  EXPECT_NE(verdict().at("class"), "healthy");
  EXPECT_EQ(last_.status, 1);
}

// Of a rank's pickle and JSON the later one counts.
TEST_F(Damaged, AnOlderPickleDoesNotHideTheJson) {
  copy(kHang / "01_size_mismatch/pickle");
  const json whole = verdict();
  fs::copy_file(kHang / "01_size_mismatch/json/rank_2.json", file("rank_2.json"));
  cut_to(file("rank_2"), 0.3);
  EXPECT_EQ(verdict().at("culprit_ranks"), whole.at("culprit_ranks")) << last_;
  EXPECT_TRUE(has_caveat(json::parse(last_.out), "hang.rank-twice")) << last_;
}

// The logs of another run: their time-out is of a call that the dumps have completed.
TEST_F(Damaged, LogsOfAnotherRunAreNotUsed) {
  const fs::path logs = kHang / "01_size_mismatch/log";
  const BinaryRun own = run_binary({"hang", kHang / "01_size_mismatch/pickle", logs, "--json"});
  EXPECT_FALSE(has_caveat(json::parse(own.out), "hang.log-foreign")) << own;
  const BinaryRun mixed =
      run_binary({"hang", kHang / "05_count_skip_one_bucket/pickle", logs, "--json"});
  const json document = json::parse(mixed.out);
  EXPECT_TRUE(has_caveat(document, "hang.log-foreign")) << mixed;
  for (const json& evidence : document.at("findings").at(0).at("evidence"))
    EXPECT_EQ(evidence.dump().find("SeqNum=7"), std::string::npos) << evidence;
  EXPECT_EQ(document.at("result").at("verdict").at("culprit_ranks"), json::array({3}));
}

TEST_F(Damaged, AMissingGlooRankIsNoHealthyJob) {
  for (const auto& [name, gone] : std::vector<std::pair<std::string, std::string>>{
           {"gloo-late-rank", "rank_2"}, {"gloo-other-op", "rank_1"}}) {
    copy(kH200 / name);
    fs::remove(file(gone));
    const BinaryRun run = run_binary({"hang", folder_.string()});
    EXPECT_NE(run.status, 0) << run;
    EXPECT_NE(run.out.find("hang.dump-missing"), std::string::npos) << run;
  }
}

TEST_F(Damaged, WithoutOneRankNoSideIsTheMinority) {
  copy(kHang / "12_order_inversion_two_groups/pickle");
  fs::remove(file("rank_0"));
  EXPECT_NE(verdict().at("culprit_ranks"), json({1}));
}

}  // namespace
}  // namespace comm_probe::test
