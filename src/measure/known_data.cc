#include "measure/known_data.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

namespace comm_probe::measure {
namespace {

using model::Op;

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// One period of a buffer, repeated often enough that a comparison runs over long stretches.
class Pattern {
 public:
  Pattern(Element element, const std::function<double(std::size_t)>& value)
      : size_(element_bytes(element)), bytes_(kPeriod * kRepeats * size_) {
    for (std::size_t i = 0; i < kPeriod; ++i)
      store_element(element, bytes_.data() + i * size_, value(i));
    for (std::size_t copy = 1; copy < kRepeats; ++copy)
      std::memcpy(bytes_.data() + copy * kPeriod * size_, bytes_.data(), kPeriod * size_);
  }
  // data[i] = pattern at first + i
  void fill(std::byte* data, std::size_t first, std::size_t count) const {
    for_stretches(first, count, [&](std::size_t done, const std::byte* from, std::size_t n) {
      std::memcpy(data + done * size_, from, n * size_);
    });
  }
  std::uint64_t differences(const std::byte* data, std::size_t first, std::size_t count) const {
    std::uint64_t wrong = 0;
    for_stretches(first, count, [&](std::size_t done, const std::byte* from, std::size_t n) {
      const std::byte* at = data + done * size_;
      if (std::memcmp(at, from, n * size_) == 0) return;
      for (std::size_t i = 0; i < n; ++i)
        wrong += std::memcmp(at + i * size_, from + i * size_, size_) != 0 ? 1 : 0;
    });
    return wrong;
  }

 private:
  static constexpr std::size_t kRepeats = 8;
  template <class Visit>
  void for_stretches(std::size_t first, std::size_t count, Visit visit) const {
    for (std::size_t done = 0; done < count;) {
      const std::size_t phase = (first + done) % kPeriod;
      const std::size_t n = std::min(count - done, kPeriod * kRepeats - phase);
      visit(done, bytes_.data() + phase * size_, n);
      done += n;
    }
  }
  std::size_t size_;
  std::vector<std::byte> bytes_;
};

double combined(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kAvg:
      return a + b;
    case Reduction::kProd:
      return a * b;
    case Reduction::kMin:
      return std::min(a, b);
    case Reduction::kMax:
      return std::max(a, b);
  }
  return a;
}

double reduced(const Call& call, int ranks, std::size_t index) {
  double value = known_input(call.reduction, 0, index);
  for (int rank = 1; rank < ranks; ++rank)
    value = combined(call.reduction, value, known_input(call.reduction, rank, index));
  if (call.reduction != Reduction::kAvg) return value;
  const bool whole = call.element == Element::kI32 || call.element == Element::kU8;
  if (whole) return std::floor(value / ranks);
  if (call.element == Element::kF64) return value / ranks;
  return static_cast<float>(value) / static_cast<float>(ranks);
}

Reduction pattern_kind(const Call& call) {
  const bool reduces =
      call.op == Op::kAllReduce || call.op == Op::kReduce || call.op == Op::kReduceScatter;
  return reduces ? call.reduction : Reduction::kSum;
}

Pattern reduced_pattern(const Call& call, int ranks) {
  return {call.element, [&](std::size_t i) { return reduced(call, ranks, i); }};
}
Pattern input_pattern(const Call& call, int rank) {
  return {call.element, [&](std::size_t i) { return known_input(pattern_kind(call), rank, i); }};
}

}  // namespace

double known_input(Reduction reduction, int rank, std::size_t index) {
  const std::size_t place = index % kPeriod;
  const auto r = static_cast<std::size_t>(rank);
  // up to 64 ranks: a sum of at most 192, a product of at most 2^8
  if (reduction == Reduction::kProd) return (r + place) % 8 == 0 ? 2 : 1;
  return static_cast<double>((r * 7 + place * 5 + place / 11) % 4);
}

void fill_input(const Call& call, int rank, int ranks, std::byte* send) {
  input_pattern(call, rank).fill(send, 0, send_count(call, ranks));
}

std::uint64_t count_wrong(const Call& call, int rank, int ranks) {
  const auto r = static_cast<std::size_t>(rank);
  switch (call.op) {
    case Op::kAllReduce:
      return reduced_pattern(call, ranks).differences(call.recv, 0, call.count);
    case Op::kReduce:
      return rank != call.root ? 0
                               : reduced_pattern(call, ranks).differences(call.recv, 0, call.count);
    case Op::kReduceScatter:
      return reduced_pattern(call, ranks).differences(call.recv, r * call.count, call.count);
    case Op::kBroadcast:
      return input_pattern(call, call.root).differences(call.recv, 0, call.count);
    case Op::kSendRecv:
      return input_pattern(call, (rank + ranks - 1) % ranks).differences(call.recv, 0, call.count);
    case Op::kAllGather:
    case Op::kAllToAll:
      break;
  }
  std::uint64_t wrong = 0;
  const std::size_t first = call.op == Op::kAllToAll ? r * call.count : 0;
  for (int from = 0; from < ranks; ++from)
    wrong += input_pattern(call, from)
                 .differences(call.received(static_cast<std::size_t>(from) * call.count), first,
                              call.count);
  return wrong;
}

namespace {

// The distance of 1 to the next number.
double unit_of(Element element) {
  switch (element) {
    case Element::kF32:
      return std::ldexp(1, -23);
    case Element::kF64:
      return std::ldexp(1, -52);
    case Element::kBf16:
      return std::ldexp(1, -7);
    case Element::kF16:
      return std::ldexp(1, -10);
    case Element::kI32:
    case Element::kU8:
      return 0;
  }
  return 0;
}

float f16_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return static_cast<float>((bits & 0x8000U) != 0 ? -magnitude : magnitude);
}

template <class T>
T get(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

std::uint64_t count_wrong_rounded(const Call& call, int rank, int ranks) {
  const std::uint64_t differing = count_wrong(call, rank, ranks);
  const bool reduces = pattern_kind(call) == Reduction::kAvg;
  const double unit = unit_of(call.element);
  if (differing == 0 || !reduces || unit == 0) return differing;
  if (call.op == Op::kReduce && rank != call.root) return differing;
  const std::size_t first =
      call.op == Op::kReduceScatter ? static_cast<std::size_t>(rank) * call.count : 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < call.count; ++i) {
    double exact = 0;
    for (int from = 0; from < ranks; ++from) exact += known_input(call.reduction, from, first + i);
    exact /= ranks;
    const double got = load_element(call.element, call.recv + i * element_bytes(call.element));
    wrong += std::fabs(got - exact) <= exact * unit * (ranks + 2) / 2 ? 0 : 1;
  }
  return wrong;
}

double load_element(Element element, const std::byte* at) {
  switch (element) {
    case Element::kF32:
      return get<float>(at);
    case Element::kF64:
      return get<double>(at);
    case Element::kBf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(get<std::uint16_t>(at)) << 16);
    case Element::kF16:
      return f16_value(get<std::uint16_t>(at));
    case Element::kI32:
      return get<std::int32_t>(at);
    case Element::kU8:
      return get<std::uint8_t>(at);
  }
  return 0;
}

std::uint16_t bf16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  const std::uint32_t half = 0x8000U, low = bits & 0xffffU;
  const std::uint32_t high = bits >> 16;
  const bool up = low > half || (low == half && (high & 1U) != 0);
  return static_cast<std::uint16_t>(high + (up ? 1 : 0));
}

std::uint16_t f16_of(float value) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00U);
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00U);
  int exponent = -13;  // of zero: any subnormal one
  if (magnitude > 0) std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 11, -24);  // 11 significant bits, at least 2^-24
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // subnormal: units count 2^-24; a carry out of the fraction raises the exponent by itself
  const std::uint32_t bits =
      unit == -24 ? units : (static_cast<std::uint32_t>(unit + 24) << 10) + units;
  return static_cast<std::uint16_t>(sign | bits);
}

void store_element(Element element, std::byte* at, double value) {
  switch (element) {
    case Element::kF32:
      return put(at, static_cast<float>(value));
    case Element::kF64:
      return put(at, value);
    case Element::kBf16:
      return put(at, bf16_of(static_cast<float>(value)));
    case Element::kF16:
      return put(at, f16_of(static_cast<float>(value)));
    case Element::kI32:
      return put(at, static_cast<std::int32_t>(value));
    case Element::kU8:
      return put(at, static_cast<std::uint8_t>(static_cast<std::uint32_t>(value)));
  }
}

}  // namespace comm_probe::measure
