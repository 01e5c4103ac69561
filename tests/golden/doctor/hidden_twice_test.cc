// What a source does not show is not taken for absent: switches below NVLink, nodes of one name.
#include <gmock/gmock.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

class HiddenTwice : public Pile {};

// `nvidia-smi topo -m` of eight GPUs and no NIC: below NVLink there may be switches.
std::string nvlink_matrix() {
  std::string text;
  for (int gpu = 0; gpu < 8; ++gpu) text += "\tGPU" + std::to_string(gpu);
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (int row = 0; row < 8; ++row) {
    text += "GPU" + std::to_string(row);
    for (int column = 0; column < 8; ++column) text += row == column ? "\t X " : "\tNV12";
    text += "\t0-63\t0\n";
  }
  return text;
}

TEST_F(HiddenTwice, AMatrixBesideRedirectsDoesNotClearThem) {
  std::string acs;
  for (int bridge = 0; bridge < 6; ++bridge)
    acs +=
        "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- "
        "DirectTrans-\n";
  put("p/acs.txt", acs);
  EXPECT_TRUE(has_id(told({folder() + "/p"})["findings"], "topo.acs-redirects"));
  put("p/topo.txt", nvlink_matrix());
  EXPECT_TRUE(has_id(told({folder() + "/p"})["findings"], "topo.acs-redirects"));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Containers of both nodes call themselves "worker": eight devices listed twice, block after block.
TEST_F(HiddenTwice, TwoNodesOfOneNameAreTwo) {
  const std::string two = table(16, 2, 85);
  const std::string one = replaced(replaced(two, "node01", "worker"), "node02", "worker");
  put("p/two.txt", two);
  put("q/one.txt", one);
  const std::string said = doctor({folder() + "/q", "--why"}).out;
  EXPECT_THAT(said, testing::Not(HasSubstr("take turns")));
  EXPECT_THAT(said, testing::Not(HasSubstr("16 ranks of 1 node")));
  const json p = told({folder() + "/p"}), q = told({folder() + "/q"});
  EXPECT_EQ(p["findings"].size(), q["findings"].size()) << q["findings"].dump(1);
}

// Two ranks on each of the GPUs, side by side: they do share them.
TEST_F(HiddenTwice, RanksThatShareGpusStillDo) {
  std::string text = table(4, 1, 85);
  text = replaced(text, "device  1 [0x11]", "device  0 [0x10]");
  text = replaced(text, "device  3 [0x13]", "device  2 [0x12]");
  put("p/table.txt", text);
  EXPECT_THAT(doctor({folder() + "/p"}).out, HasSubstr("take turns"));
}

}  // namespace
}  // namespace comm_probe::test
