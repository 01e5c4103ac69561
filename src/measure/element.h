// The elements that a collective moves and reduces, under the names that nccl-tests prints.
//
// bf16 and f16 are converted to f32 for the arithmetic and rounded to nearest, ties to even, after
// every two-operand step; i32 and u8 wrap around. avg is the sum divided by the number of ranks at
// the end (integers truncate).
//
//   element_bytes(Element::kBf16) == 2, element_name(Element::kF32) == "float"
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace comm_probe::measure {

enum class Element { kF32, kF64, kBf16, kF16, kI32, kU8 };
enum class Reduction { kSum, kProd, kMin, kMax, kAvg };

inline constexpr std::array kAllElements = {Element::kF32, Element::kF64, Element::kBf16,
                                            Element::kF16, Element::kI32, Element::kU8};
inline constexpr std::array kAllReductions = {Reduction::kSum, Reduction::kProd, Reduction::kMin,
                                              Reduction::kMax, Reduction::kAvg};

// All are powers of two. Inline: a call of 8 bytes asks for it a dozen times.
constexpr std::size_t element_bytes(Element element) {
  constexpr std::array<std::size_t, 6> kBytes = {4, 8, 2, 2, 4, 1};
  return kBytes[static_cast<std::size_t>(element)];
}
const char* element_name(Element element);  // "float double bfloat16 half int32 uint8"
// Also the short names: f32 f64 bf16 f16 i32 u8.
std::optional<Element> element_from_name(std::string_view name);
const char* reduction_name(Reduction reduction);  // "sum prod min max avg"
std::optional<Reduction> reduction_from_name(std::string_view name);

}  // namespace comm_probe::measure
