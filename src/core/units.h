// Sizes, times and bandwidths as text (design/cli.md, Conventions).
//   sizes       K M G T are binary as in nccl-tests ("8G" = 8 GiB); KB MB GB TB decimal; KiB MiB
//               GiB TiB binary; a bare number is bytes. Refused: anything negative, fractional
//               bytes, above 2^53 bytes, unknown suffix.
//   times       ns us ms s (min, h); a unit is required. Refused: negative, above 10^9 s, below
//               10^-15 s unless it is zero.
//   bandwidths  B/s KB/s MB/s GB/s TB/s decimal, KiB/s .. TiB/s binary, Kb/s Mb/s Gb/s Tb/s bits
//               ("400Gb/s" = 50 GB/s), also written GBps and Gbps. Refused: zero, negative, below
//               1 B/s, above 10^18 B/s.
// The bounds keep every sum, product and quotient of the models finite (quantity.h ends the program
// where one is not).
#pragma once

#include <string>
#include <string_view>

#include "core/quantity.h"
#include "core/result.h"

namespace comm_probe::core {

Result<Bytes> parse_bytes(std::string_view text);
Result<Duration> parse_duration(std::string_view text);
Result<Bandwidth> parse_bandwidth(std::string_view text);

// Four significant digits, unit chosen by size.
std::string format_bytes(Bytes bytes);  // "64 KiB" when binary-round, else decimal: "1.75 GB"
std::string format_duration(Duration duration);     // "144.6 us", "70.14 ms"
std::string format_bandwidth(Bandwidth bandwidth);  // "25 GB/s"
// `digits` significant digits, no exponent between 1e-4 and 1e15, no trailing zeros.
std::string format_number(double value, int digits = 4);
// "12.3 %"
std::string format_percent(double fraction, int digits = 3);

}  // namespace comm_probe::core
