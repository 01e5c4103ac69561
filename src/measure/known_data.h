// Data whose collective result is known, so that every run can be checked without keeping a second
// copy: the value at index i of rank r depends on r and i modulo a prime, is a small whole number,
// and its sum, product, minimum, maximum over up to 64 ranks is exact in every element type (bf16
// holds whole numbers up to 256). A chunk that lands in the wrong place shows, because chunk sizes
// are no multiple of the prime.
#pragma once

#include <cstddef>
#include <cstdint>

#include "measure/call.h"

namespace comm_probe::measure {

inline constexpr std::size_t kPeriod = 1009;

// Before the operation: what rank `rank` has at `index`.
double known_input(Reduction reduction, int rank, std::size_t index);
// Where in `recv` the send buffer begins in place (and the other way round for reduce_scatter).
void fill_input(const Call& call, int rank, int ranks, std::byte* send);
// Elements of the finished recv buffer that are not bit for bit what they must be.
std::uint64_t count_wrong(const Call& call, int rank, int ranks);
// The same for a library that may round after every step of an average of floating-point numbers:
// those may be off by (ranks + 2) half units of the last place. Everything else stays exact.
std::uint64_t count_wrong_rounded(const Call& call, int rank, int ranks);

// Scalar conversion, rounded to nearest even, written independently of the loops.
std::uint16_t bf16_of(float value);
std::uint16_t f16_of(float value);
void store_element(Element element, std::byte* at, double value);
double load_element(Element element, const std::byte* at);

}  // namespace comm_probe::measure
