#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "measure/known_data.h"

namespace comm_probe::measure {
namespace {

TEST(RoundedData, EveryElementIsReadBackAsStored) {
  for (const Element element : kAllElements)
    for (const double value : {0.0, 1.0, 3.0, 100.0}) {
      std::byte bytes[8] = {};
      store_element(element, bytes, value);
      EXPECT_EQ(load_element(element, bytes), value) << element_name(element);
    }
  std::byte bytes[8] = {};
  store_element(Element::kF16, bytes, -0.25);
  EXPECT_EQ(load_element(Element::kF16, bytes), -0.25);
  store_element(Element::kF16, bytes, std::ldexp(3, -24));  // subnormal
  EXPECT_EQ(load_element(Element::kF16, bytes), std::ldexp(3, -24));
  store_element(Element::kBf16, bytes, -1.5);
  EXPECT_EQ(load_element(Element::kBf16, bytes), -1.5);
}

// What three ranks have, reduced exactly, then `change` on one element that is not zero.
std::uint64_t wrong_after(Element element, Reduction reduction, double change) {
  constexpr std::size_t kCount = 2000;
  std::vector<std::byte> data(kCount * element_bytes(element));
  const Call call = {.op = model::Op::kAllReduce,
                     .element = element,
                     .reduction = reduction,
                     .count = kCount,
                     .recv = data.data()};
  for (std::size_t i = 0; i < kCount; ++i) {
    double sum = 0;
    for (int rank = 0; rank < 3; ++rank) sum += known_input(reduction, rank, i);
    if (reduction == Reduction::kAvg) sum /= 3;
    if (i == 1500) sum = sum * (1 + change);
    store_element(element, data.data() + i * element_bytes(element), sum);
  }
  return count_wrong_rounded(call, 0, 3);
}

TEST(RoundedData, AnAverageMayBeRoundedAtEveryStep) {
  EXPECT_EQ(wrong_after(Element::kBf16, Reduction::kAvg, 0), 0u);
  EXPECT_EQ(wrong_after(Element::kBf16, Reduction::kAvg, 1.0 / 128), 0u);
  EXPECT_EQ(wrong_after(Element::kF32, Reduction::kAvg, std::ldexp(1, -23)), 0u);
}

TEST(RoundedData, MoreThanThatIsWrong) {
  EXPECT_EQ(wrong_after(Element::kBf16, Reduction::kAvg, 0.1), 1u);
  EXPECT_EQ(wrong_after(Element::kF32, Reduction::kAvg, 1e-5), 1u);
}

TEST(RoundedData, ASumStaysExact) {
  EXPECT_EQ(wrong_after(Element::kF32, Reduction::kSum, 0), 0u);
  EXPECT_EQ(wrong_after(Element::kF32, Reduction::kSum, std::ldexp(1, -22)), 1u);
}

}  // namespace
}  // namespace comm_probe::measure
