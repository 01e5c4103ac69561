// The compiled loops against scalar arithmetic that was written independently of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "measure/engines/local/kernels.h"
#include "measure/known_data.h"

namespace comm_probe::measure::local {
namespace {

std::vector<const Kernels*> all_sets() {
  const KernelSets found = runnable_kernels();
  return {found.sets, found.sets + found.count};
}

float f16_value(std::uint16_t half) {
  const int exponent = (half >> 10) & 31, fraction = half & 1023;
  const float magnitude = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                          : exponent == 0
                              ? std::ldexp(static_cast<float>(fraction), -24)
                              : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}
float bf16_value(std::uint16_t half) {
  const std::uint32_t bits = static_cast<std::uint32_t>(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Every half with a partner, summed; the result must be the float sum rounded once.
template <class Value, class Round>
void check_every_half(const Kernels& kernels, Element element, Value value, Round round) {
  std::vector<std::uint16_t> a(65536), b(65536), got(65536);
  std::mt19937 source(7);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::uint16_t>(i);
    b[i] = i % 3 == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(source());
  }
  kernels.reduction(element, Reduction::kSum)(got.data(), nullptr, a.data(), b.data(), a.size());
  int wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float sum = value(a[i]) + value(b[i]);
    const bool same = std::isnan(sum) ? std::isnan(value(got[i])) : got[i] == round(sum);
    if (!same && ++wrong < 4)
      ADD_FAILURE() << kernels.instruction_set << " " << element_name(element) << " " << a[i]
                    << " + " << b[i] << " = " << got[i] << ", expected " << round(sum);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Kernels, HalvesAreRoundedOnceToNearestEven) {
  for (const Kernels* set : all_sets()) {
    check_every_half(*set, Element::kF16, f16_value, f16_of);
    check_every_half(*set, Element::kBf16, bf16_value, bf16_of);
  }
}

// IEEE 754 by hand: ties to even, the largest half, the smallest subnormal.
TEST(Kernels, ScalarConversionsOfKnownNumbers) {
  EXPECT_EQ(f16_of(0.0F), 0x0000);
  EXPECT_EQ(f16_of(-0.0F), 0x8000);
  EXPECT_EQ(f16_of(1.0F), 0x3c00);
  EXPECT_EQ(f16_of(-2.0F), 0xc000);
  EXPECT_EQ(f16_of(65504.0F), 0x7bff);
  EXPECT_EQ(f16_of(65520.0F), 0x7c00);
  EXPECT_EQ(f16_of(1.0F + std::ldexp(1.0F, -11)), 0x3c00);
  EXPECT_EQ(f16_of(1.0F + 3 * std::ldexp(1.0F, -11)), 0x3c02);
  EXPECT_EQ(f16_of(std::ldexp(1.0F, -24)), 0x0001);
  EXPECT_EQ(f16_of(std::ldexp(1.0F, -25)), 0x0000);
  EXPECT_EQ(bf16_of(1.0F), 0x3f80);
  EXPECT_EQ(bf16_of(1.0F + std::ldexp(1.0F, -8)), 0x3f80);
  EXPECT_EQ(bf16_of(1.0F + 3 * std::ldexp(1.0F, -8)), 0x3f82);
}

TEST(Kernels, EverySetGivesTheSameBits) {
  std::mt19937 source(3);
  std::vector<std::uint8_t> a(4099), b(4099), first(4099), first2(4099), other(4099), other2(4099);
  for (auto* bytes : {&a, &b})
    for (std::uint8_t& byte : *bytes) byte = static_cast<std::uint8_t>(source() % 64);
  for (const Element element : kAllElements)
    for (const Reduction reduction : kAllReductions)
      for (const Kernels* set : all_sets()) {
        const std::size_t count = 4096 / element_bytes(element) - 3;
        std::vector<std::uint8_t>& result = set == all_sets().front() ? first : other;
        std::vector<std::uint8_t>& result2 = set == all_sets().front() ? first2 : other2;
        set->reduction(element, reduction)(result.data(), result2.data(), a.data(), b.data(),
                                           count);
        const std::size_t bytes = count * element_bytes(element);
        EXPECT_EQ(std::memcmp(result.data(), first.data(), bytes), 0) << set->instruction_set;
        EXPECT_EQ(std::memcmp(result2.data(), first.data(), bytes), 0) << set->instruction_set;
      }
}

TEST(Kernels, CopiesOfEveryLengthAndAlignmentStayInside) {
  std::vector<std::byte> from(1024), to(1024);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (const Kernels* set : all_sets())
    for (const CopyLoop copy : {set->copy, set->copy_streaming})
      for (std::size_t length = 0; length < 600; length += 1 + length / 9)
        for (const std::size_t at : {0u, 1u, 8u, 63u}) {
          std::fill(to.begin(), to.end(), std::byte{0});
          copy(to.data() + at, from.data() + 3, length);
          EXPECT_EQ(std::memcmp(to.data() + at, from.data() + 3, length), 0);
          EXPECT_EQ(to[at + length], std::byte{0});
          EXPECT_TRUE(at == 0 || to[at - 1] == std::byte{0});
        }
}

}  // namespace
}  // namespace comm_probe::measure::local
