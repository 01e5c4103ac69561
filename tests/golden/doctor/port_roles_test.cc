// Ports of one card model without a word of GPUs (`ibstat` alone): a slower set beside a full one
// may be of storage, a hole in a full set is no role.
#include <gmock/gmock.h>

#include "pile.h"

namespace comm_probe::test {
namespace {

std::string ports(int full, int slow) {
  std::string text;
  for (int port = 0; port < full + slow; ++port)
    text += "CA 'mlx5_" + std::to_string(port) +
            "'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n"
            "\t\tPhysical state: LinkUp\n\t\tRate: " +
            std::to_string(port < full ? 400 : 200) + "\n\t\tLink layer: InfiniBand\n";
  return text;
}

struct Row {
  int full;
  int slow;
  std::size_t findings;
  const char* severity;
  const char* confidence;
};

class PortRoles : public Pile {};

TEST_F(PortRoles, ASetBesideAFullOneIsNotAccused) {
  for (const Row& row :
       {Row{8, 2, 1, "info", "possible"}, Row{8, 1, 1, "info", "possible"},
        Row{4, 2, 1, "info", "possible"}, Row{4, 4, 1, "info", "possible"},
        Row{7, 1, 1, "warning", "likely"}, Row{6, 2, 2, "warning", "likely"},
        Row{5, 3, 1, "warning", "possible"}, Row{9, 1, 1, "warning", "possible"}}) {
    put("p/ibstat.txt", ports(row.full, row.slow));
    const json document = told({folder() + "/p"});
    const std::string where = std::to_string(row.full) + " and " + std::to_string(row.slow);
    ASSERT_EQ(document["findings"].size(), row.findings) << where << document["findings"].dump(1);
    for (const json& finding : document["findings"]) {
      EXPECT_EQ(finding["id"], "topo.port-slow") << where;
      EXPECT_EQ(finding["severity"], row.severity) << where;
      EXPECT_EQ(finding["confidence"], row.confidence) << where;
    }
    const int status = doctor({folder() + "/p"}).status;
    EXPECT_EQ(status, std::string(row.severity) == "warning" ? 1 : 0) << where;
  }
}

// The job's topology file shows 400 Gb/s of each: no likes are needed to see that three run at
// half.
TEST_F(PortRoles, PortsBelowTheirOwnTopologyFileAreNamed) {
  put("p/topo.xml", run_binary({"machines", "dgx-h100", "--topo"}).out);
  std::string text = ports(8, 0);
  for (int i = 0; i < 3; ++i) text.replace(text.find("Rate: 400"), 9, "Rate: 200");
  put("p/ibstat.txt", text);
  const json document = told({folder() + "/p"});
  int named = 0;
  for (const json& finding : document["findings"])
    if (finding["id"] == "topo.port-slow" && finding["severity"] == "warning") ++named;
  EXPECT_EQ(named, 3) << document["findings"].dump(1);
}

}  // namespace
}  // namespace comm_probe::test
