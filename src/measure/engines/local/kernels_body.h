// The loops of kernels.h. Included by kernels_<set>.cc, each compiled for its instruction set, with
// COMM_PROBE_KERNEL_SET naming the function that hands them out. Everything is in an unnamed
// namespace and no inline function of a library is used: the linker must never merge code compiled
// for AVX-512 into a program that runs without it.
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "measure/engines/local/kernels.h"

#if defined(__clang__)
#define COMM_PROBE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define COMM_PROBE_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace comm_probe::measure::local {
namespace {

#if defined(__AVX512F__)
using Vector = __m512i;
inline Vector load(const std::byte* p) { return _mm512_loadu_si512(p); }
inline void store(std::byte* p, Vector v) { _mm512_storeu_si512(p, v); }
inline void stream(std::byte* p, Vector v) { _mm512_stream_si512(reinterpret_cast<Vector*>(p), v); }
#elif defined(__AVX2__)
using Vector = __m256i;
inline Vector load(const std::byte* p) {
  return _mm256_loadu_si256(reinterpret_cast<const Vector*>(p));
}
inline void store(std::byte* p, Vector v) { _mm256_storeu_si256(reinterpret_cast<Vector*>(p), v); }
inline void stream(std::byte* p, Vector v) { _mm256_stream_si256(reinterpret_cast<Vector*>(p), v); }
#elif defined(__x86_64__)
using Vector = __m128i;
inline Vector load(const std::byte* p) {
  return _mm_loadu_si128(reinterpret_cast<const Vector*>(p));
}
inline void store(std::byte* p, Vector v) { _mm_storeu_si128(reinterpret_cast<Vector*>(p), v); }
inline void stream(std::byte* p, Vector v) { _mm_stream_si128(reinterpret_cast<Vector*>(p), v); }
#endif

#if defined(__x86_64__)
constexpr size_t kVector = sizeof(Vector);

void copy_loop(std::byte* dst, const std::byte* src, size_t bytes) {
  while (bytes >= 4 * kVector) {
    const Vector a = load(src), b = load(src + kVector);
    const Vector c = load(src + 2 * kVector), d = load(src + 3 * kVector);
    store(dst, a), store(dst + kVector, b);
    store(dst + 2 * kVector, c), store(dst + 3 * kVector, d);
    src += 4 * kVector, dst += 4 * kVector, bytes -= 4 * kVector;
  }
  for (; bytes >= kVector; src += kVector, dst += kVector, bytes -= kVector) store(dst, load(src));
  if (bytes > 0) memcpy(dst, src, bytes);
}

void copy_streaming_loop(std::byte* dst, const std::byte* src, size_t bytes) {
  const size_t to_line = (64 - reinterpret_cast<uintptr_t>(dst) % 64) % 64;
  const size_t head = to_line < bytes ? to_line : bytes;
  memcpy(dst, src, head);
  dst += head, src += head, bytes -= head;
  for (; bytes >= 64; src += 64, dst += 64, bytes -= 64)
    for (size_t at = 0; at < 64; at += kVector) stream(dst + at, load(src + at));
  if (bytes > 0) memcpy(dst, src, bytes);
  _mm_sfence();
}
#else
void copy_loop(std::byte* dst, const std::byte* src, size_t bytes) { memcpy(dst, src, bytes); }
void copy_streaming_loop(std::byte* dst, const std::byte* src, size_t bytes) {
  memcpy(dst, src, bytes);
}
#endif

inline uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Stored is what lies in memory, Value what the arithmetic uses.
struct F32 {
  using Stored = float;
  using Value = float;
  static Value load(Stored s) { return s; }
  static Stored store(Value v) { return v; }
};
struct F64 {
  using Stored = double;
  using Value = double;
  static Value load(Stored s) { return s; }
  static Stored store(Value v) { return v; }
};
struct Bf16 {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored s) { return float_of(static_cast<uint32_t>(s) << 16); }
  static Stored store(Value v) {
    const uint32_t bits = bits_of(v);
    const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
    return static_cast<Stored>(is_nan ? (bits >> 16) | 0x40U : rounded);
  }
};
struct F16 {
  using Stored = uint16_t;
  using Value = float;
  // Exponent and fraction moved into place, the bias corrected by a multiplication, which also
  // normalises subnormal halves; infinity and NaN get the largest exponent back.
  static Value load(Stored s) {
    const uint32_t magnitude = static_cast<uint32_t>(s & 0x7fffU) << 13;
    const uint32_t scaled = bits_of(float_of(magnitude) * float_of(0x77800000U));  // * 2^112
    const uint32_t finite = magnitude >= 0x0f800000U ? magnitude | 0x7f800000U : scaled;
    return float_of(finite | static_cast<uint32_t>(s & 0x8000U) << 16);
  }
  static Stored store(Value v) {
    const uint32_t bits = bits_of(v);
    const uint32_t magnitude = bits & 0x7fffffffU;
    const uint32_t sign = (bits >> 16) & 0x8000U;
    // below 2^-14: adding 0.5 leaves the half's fraction, rounded by the hardware, in the low bits
    const uint32_t subnormal = bits_of(float_of(magnitude) + 0.5F) - 0x3f000000U;
    const uint32_t normal = (magnitude + 0xc8000fffU + ((magnitude >> 13) & 1U)) >> 13;
    uint32_t half = magnitude < 0x38800000U ? subnormal : normal;
    half = magnitude >= 0x477ff000U ? 0x7c00U : half;  // rounds above 65504
    half = magnitude > 0x7f800000U ? 0x7e00U : half;
    return static_cast<Stored>(half | sign);
  }
};
struct I32 {
  using Stored = int32_t;
  using Value = int32_t;
  static Value load(Stored s) { return s; }
  static Stored store(Value v) { return v; }
};
struct U8 {
  using Stored = uint8_t;
  using Value = uint8_t;
  static Value load(Stored s) { return s; }
  static Stored store(Value v) { return v; }
};

struct Sum {
  static float apply(float a, float b) { return a + b; }
  static double apply(double a, double b) { return a + b; }
  static int32_t apply(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  static uint8_t apply(uint8_t a, uint8_t b) { return static_cast<uint8_t>(a + b); }
};
struct Prod {
  static float apply(float a, float b) { return a * b; }
  static double apply(double a, double b) { return a * b; }
  static int32_t apply(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
  }
  static uint8_t apply(uint8_t a, uint8_t b) { return static_cast<uint8_t>(a * b); }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};

template <class Type, class Operator>
void reduce_loop(void* to, void* to2, const void* left, const void* right, size_t count) {
  using Stored = typename Type::Stored;
  Stored* dst = static_cast<Stored*>(to);
  const Stored* a = static_cast<const Stored*>(left);
  const Stored* b = static_cast<const Stored*>(right);
  if (to2 == nullptr) {
    COMM_PROBE_INDEPENDENT
    for (size_t i = 0; i < count; ++i)
      dst[i] = Type::store(Operator::apply(Type::load(a[i]), Type::load(b[i])));
    return;
  }
  Stored* dst2 = static_cast<Stored*>(to2);
  COMM_PROBE_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const Stored value = Type::store(Operator::apply(Type::load(a[i]), Type::load(b[i])));
    dst[i] = value;
    dst2[i] = value;
  }
}

template <class Type>
void scale_loop(void* data, size_t count, int ranks) {
  typename Type::Stored* values = static_cast<typename Type::Stored*>(data);
  const auto divisor = static_cast<typename Type::Value>(ranks);
  COMM_PROBE_INDEPENDENT
  for (size_t i = 0; i < count; ++i)
    values[i] = Type::store(static_cast<typename Type::Value>(Type::load(values[i]) / divisor));
}

#define COMM_PROBE_ROW(Type)                                                 \
  {                                                                          \
    reduce_loop<Type, Sum>, reduce_loop<Type, Prod>, reduce_loop<Type, Min>, \
        reduce_loop<Type, Max>, reduce_loop<Type, Sum>                       \
  }

constexpr Kernels make_kernels(const char* name) {
  return {name,
          copy_loop,
          copy_streaming_loop,
          {COMM_PROBE_ROW(F32), COMM_PROBE_ROW(F64), COMM_PROBE_ROW(Bf16), COMM_PROBE_ROW(F16),
           COMM_PROBE_ROW(I32), COMM_PROBE_ROW(U8)},
          {scale_loop<F32>, scale_loop<F64>, scale_loop<Bf16>, scale_loop<F16>, scale_loop<I32>,
           scale_loop<U8>}};
}

}  // namespace
}  // namespace comm_probe::measure::local
