// What `doctor` does with a pile as such: every file recognised by content and read once, damaged
// ones named without losing the others, files of no use listed once, the verdict independent of
// names and order; --why and --json as docs/doctor.md says.
#include "pile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

TEST_F(Pile, NamesAndOrderDoNotMatter) {
  const std::string log = put("x.bin", tcp_log());
  const std::string slow = put("7", table(4, 2, 1.2));
  const std::string fast = put("notes.md", table(2, 1, 370));
  for (const auto& files : {std::vector{log, slow, fast}, std::vector{fast, slow, log}}) {
    const json document = told(files);
    ASSERT_FALSE(document["findings"].empty()) << document.dump(1);
    EXPECT_EQ(document["findings"][0]["id"], "log.tcp-fallback") << document.dump(1);
    EXPECT_EQ(document["inputs"].size(), 3u);
    EXPECT_TRUE(document["result"]["unrecognised"].empty());
  }
}

// What it should be is a tenth of one node's 370 GB/s; 1.2 GB/s are reached: 35.8 are missing.
TEST_F(Pile, TheCauseSaysHowMuchOfTheGapItExplains) {
  const json document = told({put("nccl.log", tcp_log()), put("two.txt", table(4, 2, 1.2)),
                              put("one.txt", table(2, 1, 370))});
  const json& cause = document["findings"][0];
  ASSERT_TRUE(cause.contains("explains")) << cause.dump(1);
  EXPECT_NEAR(cause["explains"]["value"].get<double>(), 35.8, 0.4);
  EXPECT_EQ(cause["explains"]["unit"], "GB/s");
  const json& gap = document["result"]["gap"];
  EXPECT_NEAR(gap["expected_GBps"].get<double>(), 37, 0.2);
  EXPECT_NEAR(gap["observed_GBps"].get<double>(), 1.2, 0.02);
  const auto symptom = std::find_if(document["findings"].begin(), document["findings"].end(),
                                    [](const json& finding) { return finding["id"] == "job.gap"; });
  ASSERT_NE(symptom, document["findings"].end());
  EXPECT_THAT((*symptom)["summary"].get<std::string>(), HasSubstr("explained by log.tcp-fallback"));
}

TEST_F(Pile, ADamagedFileIsNamedAndTheOthersAreRead) {
  put("nccl.log", tcp_log());
  put("cut.log.gz", std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x0b", 11));
  put("core.4711", std::string(4096, '\x7f'));
  put("photo.png", "\x89PNG\r\n\x1a\n");
  const json document = told({folder()});
  EXPECT_EQ(document["findings"][0]["id"], "log.tcp-fallback");
  EXPECT_EQ(document["result"]["unrecognised"].size(), 2u) << document["result"].dump(1);
  std::string caveats;
  for (const json& caveat : document["caveats"]) caveats += caveat.dump();
  EXPECT_THAT(caveats, HasSubstr("cut.log.gz"));
  EXPECT_EQ(caveats.find("core.4711"), caveats.rfind("core.4711")) << "listed once";
}

TEST_F(Pile, OfAPileWithoutArtifactsNothingIsSaid) {
  put("train.py", "raise RuntimeError('Killed by signal 9: out of memory')\n");
  put("README", "how to run this\n");
  const BinaryRun run = doctor({folder()});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.err, HasSubstr("expected logs"));
  EXPECT_EQ(doctor({folder() + "/absent"}).status, 2);
}

TEST_F(Pile, OneTextMayHoldAllOfIt) {
  const json document =
      told({put("ticket.txt", "dear all,\n" + tcp_log() + "\n" + table(4, 2, 1.2))});
  ASSERT_EQ(document["inputs"].size(), 1u);
  EXPECT_EQ(document["inputs"][0]["kind"], "nccl-log, nccl-tests");
  EXPECT_EQ(document["findings"][0]["id"], "log.tcp-fallback");
}

TEST_F(Pile, WrongNumbersAreNeverTheNetworksFault) {
  const json document = told({put("run.txt", table(8, 1, 400, 17))});
  EXPECT_EQ(document["result"]["symptoms"][0], "wrong");
  EXPECT_EQ(document["findings"][0]["id"], "curve.wrong-results");
  for (const json& finding : document["findings"]) EXPECT_NE(finding["layer"], "rdma");
}

// The ibstat beside a test of a link says what its port should carry.
TEST_F(Pile, APortOfThePileIsWhatALinkTestIsComparedWith) {
  const fs::path box = fs::path(COMM_PROBE_SOURCE_DIR) / "tests/inputs/healthy/pcie-box";
  std::ifstream file(box / "ib_write_bw.txt");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string ports = (box / "box/ibstat.txt").string();
  const json healthy = told({put("good.txt", text), ports});
  for (const json& caveat : healthy["caveats"]) EXPECT_NE(caveat["id"], "curve.port-unknown");
  ASSERT_NE(text.find("392.14             391.83"), text.npos);
  text.replace(text.find("392.14             391.83"), 25, "188.14             187.83");
  text.replace(text.find("0.747352"), 8, "0.358257");  // 187.83 Gb/s / 65536 B
  const json slow = told({put("slow.txt", text), ports});
  ASSERT_FALSE(slow["findings"].empty());
  EXPECT_EQ(slow["findings"][0]["id"], "curve.link-below-port") << slow["findings"].dump(1);
  EXPECT_THAT(slow["findings"][0]["expected"]["source"].get<std::string>(),
              HasSubstr("ibstat.txt"));
}

// One size, results that are wrong, other GPUs: none of them says that the links are slow.
TEST_F(Pile, NoGapIsMadeOfWhatShowsNone) {
  const auto has_gap = [](const json& document) {
    return std::any_of(document["findings"].begin(), document["findings"].end(),
                       [](const json& finding) { return finding["id"] == "job.gap"; });
  };
  std::string one_size = table(8, 1, 60);
  const std::size_t second_row = one_size.find("67108864");
  one_size.erase(one_size.rfind('\n', second_row) + 1,
                 one_size.find("# Out of") - one_size.rfind('\n', second_row) - 1);
  const json small = told({put("small.txt", one_size)});
  EXPECT_FALSE(has_gap(small)) << small.dump(1);
  EXPECT_FALSE(
      has_gap(told({put("one.txt", table(8, 1, 400)), put("bad.txt", table(16, 2, 4, 9))})));
  std::string other = table(16, 2, 80);
  for (std::size_t at = other.find("H100 80GB HBM3"); at != other.npos;
       at = other.find("H100 80GB HBM3"))
    other.replace(at, 14, "A100-SXM4-80GB");
  EXPECT_FALSE(has_gap(told({put("h100.txt", table(16, 2, 400)), put("a100.txt", other)})));
  EXPECT_TRUE(
      has_gap(told({put("fast.txt", table(16, 2, 400)), put("slow.txt", table(16, 2, 80))})))
      << "of the same GPUs it is one";
}

// The same fault under other names: which machine comes first must not decide who is blamed.
TEST_F(Pile, OfTwoMachinesNeitherIsTheRule) {
  for (const bool is_first : {true, false}) {
    const std::string name = is_first ? "a" : "b";
    put(name + "/node01/ibstat.txt", ibstat(!is_first));
    put(name + "/node02/ibstat.txt", ibstat(is_first));
    const json document = told({folder() + "/" + name});
    ASSERT_FALSE(document["findings"].empty());
    for (const json& finding : document["findings"]) {
      const std::string summary = finding["summary"];
      EXPECT_EQ(summary.find("the first machine"), summary.npos) << summary;
      if (finding["id"] != "topo.diff-link") continue;
      EXPECT_NE(finding["confidence"], "certain");
      EXPECT_THAT(summary, HasSubstr("which of them is right is not known"));
    }
  }
}

std::string outcome_of(const json& document, const std::string& step) {
  for (const json& visit : document["result"]["path"])
    if (visit["step"] == step) return visit["outcome"];
  return "";
}

// Without a GPU nothing is known of GPUs, and a port that is down is not "fine".
TEST_F(Pile, FineIsWhatWasChecked) {
  const json document = told({put("ibstat.txt", ibstat(false))});
  EXPECT_EQ(outcome_of(document, "hardware"), "not there");
  EXPECT_EQ(outcome_of(document, "ports"), "noted");
  EXPECT_EQ(outcome_of(told({put("ibstat.txt", ibstat(true))}), "ports"), "fine");
}

TEST_F(Pile, WhyTellsWhatWasFineAndWhatWasNotThere) {
  const BinaryRun run = doctor({put("nccl.log", tcp_log()), "--why"});
  EXPECT_THAT(run.out, HasSubstr("found    does NCCL use the fast network?"));
  EXPECT_THAT(run.out, HasSubstr("- not there: are GPUs, NVLinks, slots and NICs"));
  // sockets say nothing of GPUDirect RDMA: that is not fine
  EXPECT_EQ(run.out.find("fine     does data go from GPU to NIC"), std::string::npos) << run.out;
  const json document = told({put("nccl.log", tcp_log())});
  for (const json& visit : document["result"]["path"]) {
    EXPECT_THAT((std::vector<std::string>{"found", "fine", "not there"}),
                testing::Contains(visit["outcome"].get<std::string>()));
    EXPECT_EQ(visit["tree"], "slow");
  }
}

TEST_F(Pile, AHealthyTableAloneIsQuiet) {
  EXPECT_EQ(doctor({put("run.txt", table(8, 1, 460))}).status, 0);
}

}  // namespace
}  // namespace comm_probe::test
