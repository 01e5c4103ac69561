// Do two runs of the same sizes differ, and by how much? One pair per size: the logarithm of the
// new time over the old one. Wilcoxon's signed-rank test (Biometrics Bulletin 1, 1945): rank the
// absolute differences, add the ranks of the positive ones; exact for up to 40 pairs, the normal
// approximation with its continuity correction above. The estimate of the ratio is the
// Hodges-Lehmann median of all pair means, its 95 % interval comes from the same distribution.
//
// Worked example (tests/unit/model/paired_test.cc repeats it): six sizes, all slower: p = 2 / 2^6 =
// 0.03125, the smallest that six pairs can give; five pairs can never pass 0.05.
#pragma once

#include <optional>
#include <span>

namespace comm_probe::model {

struct PairedTest {
  int pairs = 0;
  double ratio = 1;  // new / old
  double low = 1;    // 95 % interval
  double high = 1;
  double p = 1;  // two-sided
  // The smallest change that would have been seen: half of the interval's width, as a ratio - 1.
  double detectable = 0;
};

// Ratios are positive. Nothing for fewer than four pairs: no interval can be given.
std::optional<PairedTest> paired_test(std::span<const double> ratios);

}  // namespace comm_probe::model
