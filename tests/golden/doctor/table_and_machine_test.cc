// A table beside a topology: NVLink in pairs carries what the slots between the pairs carry, no
// more.
#include <gmock/gmock.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

using testing::HasSubstr;

class TableAndMachine : public Pile {
 protected:
  // `nvidia-smi topo -m` of 8 GPUs in groups that NVLink joins.
  static std::string matrix(int group) {
    std::string text;
    for (int gpu = 0; gpu < 8; ++gpu) text += "\tGPU" + std::to_string(gpu);
    text += "\tCPU Affinity\tNUMA Affinity\n";
    for (int a = 0; a < 8; ++a) {
      text += "GPU" + std::to_string(a);
      for (int b = 0; b < 8; ++b)
        text += a == b                   ? "\t X "
                : a / group == b / group ? "\tNV12"
                : a / 4 == b / 4         ? "\tNODE"
                                         : "\tSYS";
      text += "\t0-31\t0\n";
    }
    return text;
  }
  bool is_said(int group, double busbw) {
    const std::string name = std::to_string(group) + "_" + std::to_string(static_cast<int>(busbw));
    put(name + "/topo.txt", matrix(group));
    put(name + "/allreduce.txt", table(8, 1, busbw));
    const json document = told({folder() + "/" + name});
    for (const json& finding : document["findings"])
      if (finding["id"] == "job.table-not-of-machine") {
        EXPECT_EQ(finding["severity"], "info");
        EXPECT_THAT(finding["summary"].get<std::string>(), HasSubstr("topo.txt"));
        return true;
      }
    return false;
  }
};

// 2 x 7/8 x 2 slots x 64 GB/s = 224 GB/s between pairs; 448 between fours.
TEST_F(TableAndMachine, MoreThanTheSlotsCarryIsOfAnotherMachine) {
  EXPECT_TRUE(is_said(2, 234));
  EXPECT_FALSE(is_said(2, 20));
  EXPECT_FALSE(is_said(2, 200));
  EXPECT_FALSE(is_said(4, 400));
  EXPECT_FALSE(is_said(8, 470));
}

}  // namespace
}  // namespace comm_probe::test
