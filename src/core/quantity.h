// Bytes, Duration, Bandwidth: quantities that carry their unit in the type, so that GB against GiB
// or bit against byte cannot compile. GB is 10^9 bytes, GiB is 2^30; link rates in bits have their
// own constructor.
//
// All three hold a double. Bytes is exact up to 2^53 (9 PB) and may be fractional where it is a
// share of a message (2(n-1)/n * S); Bytes and Bandwidth are never negative, Duration may be (a
// gap). Arithmetic is checked: a result that is not finite, or negative where it must not be, or a
// division by zero, is a programmer error (exit 4); input is bounded when it is parsed (units.h),
// so that no input can cause it.
//
//   65536_B * 1.75 / 25_GBps == Duration::from_us(4.58752)
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <string>

#include "core/check.h"

namespace comm_probe::core {

class Duration {
 public:
  constexpr Duration() = default;
  static Duration from_seconds(double s) { return Duration(s); }
  static Duration from_ms(double ms) { return Duration(ms * 1e-3); }
  static Duration from_us(double us) { return Duration(us * 1e-6); }
  static Duration from_ns(double ns) { return Duration(ns * 1e-9); }

  double in_seconds() const { return seconds_; }
  double in_ms() const { return seconds_ * 1e3; }
  double in_us() const { return seconds_ * 1e6; }
  double in_ns() const { return seconds_ * 1e9; }

  auto operator<=>(const Duration&) const = default;
  Duration operator+(Duration other) const { return Duration(seconds_ + other.seconds_); }
  Duration operator-(Duration other) const { return Duration(seconds_ - other.seconds_); }
  Duration& operator+=(Duration other) { return *this = *this + other; }
  Duration operator*(double factor) const { return Duration(seconds_ * factor); }
  Duration operator/(double divisor) const { return Duration(seconds_ / divisor); }
  double operator/(Duration other) const {
    COMM_PROBE_CHECK(other.seconds_ != 0, "division by a zero duration");
    return seconds_ / other.seconds_;
  }

 private:
  explicit Duration(double seconds) : seconds_(seconds) {
    COMM_PROBE_CHECK(std::isfinite(seconds), "a duration is not finite");
  }
  double seconds_ = 0;
};
inline Duration operator*(double factor, Duration d) { return d * factor; }

class Bytes {
 public:
  constexpr Bytes() = default;
  // Any non-negative finite number of bytes.
  static Bytes of(double count) { return Bytes(count); }
  static Bytes of(std::uint64_t count) { return Bytes(static_cast<double>(count)); }
  static Bytes of(int count) { return Bytes(count); }

  double count() const { return count_; }
  // The nearest whole number of bytes.
  std::uint64_t whole() const { return static_cast<std::uint64_t>(std::llround(count_)); }

  auto operator<=>(const Bytes&) const = default;
  Bytes operator+(Bytes other) const { return Bytes(count_ + other.count_); }
  Bytes operator-(Bytes other) const { return Bytes(count_ - other.count_); }
  Bytes& operator+=(Bytes other) { return *this = *this + other; }
  Bytes operator*(double factor) const { return Bytes(count_ * factor); }
  Bytes operator/(double divisor) const { return Bytes(count_ / divisor); }
  double operator/(Bytes other) const {
    COMM_PROBE_CHECK(other.count_ != 0, "division by zero bytes");
    return count_ / other.count_;
  }

 private:
  explicit Bytes(double count) : count_(count) {
    COMM_PROBE_CHECK(std::isfinite(count) && count >= 0, "a byte count is negative or not finite");
  }
  double count_ = 0;
};
inline Bytes operator*(double factor, Bytes b) { return b * factor; }

// Always bytes per second in one direction unless the name says otherwise.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static Bandwidth from_bytes_per_second(double rate) { return Bandwidth(rate); }
  static Bandwidth from_GBps(double gigabytes) { return Bandwidth(gigabytes * 1e9); }
  static Bandwidth from_Gbps(double gigabits) { return Bandwidth(gigabits * 1e9 / 8); }

  double in_bytes_per_second() const { return rate_; }
  double in_GBps() const { return rate_ / 1e9; }
  double in_Gbps() const { return rate_ * 8 / 1e9; }

  auto operator<=>(const Bandwidth&) const = default;
  Bandwidth operator+(Bandwidth other) const { return Bandwidth(rate_ + other.rate_); }
  Bandwidth operator*(double factor) const { return Bandwidth(rate_ * factor); }
  Bandwidth operator-(Bandwidth other) const { return Bandwidth(rate_ - other.rate_); }
  Bandwidth operator/(double divisor) const { return Bandwidth(rate_ / divisor); }
  double operator/(Bandwidth other) const {
    COMM_PROBE_CHECK(other.rate_ != 0, "division by a zero bandwidth");
    return rate_ / other.rate_;
  }

 private:
  explicit Bandwidth(double rate) : rate_(rate) {
    COMM_PROBE_CHECK(std::isfinite(rate) && rate >= 0, "a bandwidth is negative or not finite");
  }
  double rate_ = 0;
};
inline Bandwidth operator*(double factor, Bandwidth b) { return b * factor; }

inline Duration operator/(Bytes bytes, Bandwidth bandwidth) {
  COMM_PROBE_CHECK(bandwidth.in_bytes_per_second() > 0, "division by a zero bandwidth");
  return Duration::from_seconds(bytes.count() / bandwidth.in_bytes_per_second());
}
inline Bandwidth operator/(Bytes bytes, Duration time) {
  COMM_PROBE_CHECK(time.in_seconds() > 0, "bandwidth over a duration that is not positive");
  return Bandwidth::from_bytes_per_second(bytes.count() / time.in_seconds());
}
inline Bytes operator*(Bandwidth bandwidth, Duration time) {
  return Bytes::of(bandwidth.in_bytes_per_second() * time.in_seconds());
}
inline Bytes operator*(Duration time, Bandwidth bandwidth) { return bandwidth * time; }

// Who said a number.
enum class Basis { kMeasured, kRead, kComputed, kCatalog, kAssumed };
const char* basis_name(Basis basis);  // "measured" | "read" | "computed" | "catalog" | "assumed"

// A number with its provenance: `source` says which measurement, file, model or document.
template <class T>
struct Sourced {
  T value = {};
  Basis basis = Basis::kAssumed;
  std::string source = {};
};

inline namespace literals {
inline Bytes operator""_B(unsigned long long n) { return Bytes::of(static_cast<std::uint64_t>(n)); }
inline Bytes operator""_KiB(unsigned long long n) {
  return Bytes::of(static_cast<double>(n) * 1024);
}
inline Bytes operator""_MiB(unsigned long long n) {
  return Bytes::of(static_cast<double>(n) * 1048576);
}
inline Bytes operator""_GiB(unsigned long long n) {
  return Bytes::of(static_cast<double>(n) * 1073741824);
}
inline Bytes operator""_KB(unsigned long long n) { return Bytes::of(static_cast<double>(n) * 1e3); }
inline Bytes operator""_MB(unsigned long long n) { return Bytes::of(static_cast<double>(n) * 1e6); }
inline Bytes operator""_GB(unsigned long long n) { return Bytes::of(static_cast<double>(n) * 1e9); }
inline Duration operator""_us(unsigned long long n) {
  return Duration::from_us(static_cast<double>(n));
}
inline Duration operator""_us(long double n) { return Duration::from_us(static_cast<double>(n)); }
inline Duration operator""_ms(unsigned long long n) {
  return Duration::from_ms(static_cast<double>(n));
}
inline Duration operator""_s(unsigned long long n) {
  return Duration::from_seconds(static_cast<double>(n));
}
inline Bandwidth operator""_GBps(unsigned long long n) {
  return Bandwidth::from_GBps(static_cast<double>(n));
}
inline Bandwidth operator""_GBps(long double n) {
  return Bandwidth::from_GBps(static_cast<double>(n));
}
inline Bandwidth operator""_Gbps(unsigned long long n) {
  return Bandwidth::from_Gbps(static_cast<double>(n));
}
}  // namespace literals

}  // namespace comm_probe::core
