// The lines of perftest (ib_write_bw and its family), one kind each. Facts: perftest 26.04 and the
// field files p04 .. p28.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "curve/link_test.h"
#include "curve/readers/link_reader.h"
#include "curve/tokens.h"

namespace comm_probe::curve {

// "RDMA_Write Post List BW Test": what is measured. False where the text is no title.
bool read_perftest_title(std::string_view text, LinkTest& test);

// "ib_write_bw -d mlx5_0 -x 3 --use_cuda=0 -D 10" with whatever stands before it (a prompt,
// numactl, mpirun). False where no word is one of perftest's programs.
bool read_perftest_command(std::string_view text, LinkTest& test);

// "Number of qps   : 1            Transport type : IB": False where no key is one of perftest's.
bool read_perftest_fields(std::string_view text, LinkTest& test);
// One of the keys is a word that other programs do not print ("Device:" alone is anybody's).
bool begins_perftest(std::string_view text);
// One pair, as the JSON has it too ("Number_of_qps"): blanks and "_" are the same.
bool set_perftest_field(std::string_view key, std::string_view value, LinkTest& test);

// "local address: LID 0xd06 QPN ...", or its GID line; `is_remote` remembers whose GID follows.
bool read_perftest_address(std::string_view text, LinkTest& test, bool& is_remote);

// "CUDA device 0: PCIe address is 17:00", "Picking device No. 0", ...
bool read_gpu_line(std::string_view text, LinkTest& test);

enum class PerftestLine { kOther, kError, kWarning, kNoise };
PerftestLine classify_perftest_line(std::string_view text);

// What a column of the results holds.
enum class LinkColumn {
  kBytes,
  kIterations,
  kPeak,
  kAverage,
  kRate,
  kMin,
  kMax,
  kTypical,
  kMean,
  kDeviation,
  kP99,
  kP999,
  kOther
};
struct LinkLayout {
  std::vector<LinkColumn> columns = {};
  double unit = 0;   // bytes per second of the printed bandwidths
  bool mib = false;  // "MB/sec", which perftest means as 2^20 bytes
  bool is_latency = false;
};
// "#bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
std::optional<LinkLayout> read_perftest_header(std::string_view text);

// kRowCut: a result, of which the last figure is cut; it is left out. kCut: no result yet.
enum class LinkRowKind { kNotARow, kRow, kRowCut, kCut, kRefused };
LinkRowKind read_perftest_row(const LinkLine& line, const LinkLayout& layout, LinkRow& row);

}  // namespace comm_probe::curve
