// Routing in .npy and as plain int32.
#include <fmt/format.h>

#include <charconv>

#include "serving/readers/routing_picks.h"
#include "serving/readers/routing_values.h"

namespace comm_probe::serving {
namespace {

using core::Error;
using core::input_error;

template <class Value>
const Value* values_of(const std::byte* row) {
  return reinterpret_cast<const Value*>(row);  // the allocator aligns it for any number
}

Error cut_off(const RowStream& rows, std::size_t row_bytes, const std::string& name) {
  return at_offset(input_error(fmt::format("the last token is cut off: {} of {} bytes",
                                           rows.left_over(), row_bytes),
                               "the file is not complete, or --topk is not its"),
                   name, rows.end_offset() - rows.left_over());
}

Error too_many(const std::string& name, std::uint64_t offset) {
  return at_offset(
      input_error(fmt::format("more than {} picks", kMostPicks), "give a part of the tokens"), name,
      offset);
}

// All rows of one kind of number. `tokens` of them are expected; -1: as many as there are.
template <class Value>
core::Result<model::Routing> read_rows(RowStream& rows, RoutingPicks& picks, std::int64_t tokens) {
  constexpr bool kLogits = std::is_floating_point_v<Value>;
  const auto columns =
      static_cast<std::size_t>(kLogits ? picks.shape().experts : picks.shape().topk);
  for (std::int64_t token = 0; tokens < 0 || token < tokens; ++token) {
    const std::byte* row = rows.next();
    if (row == nullptr) break;
    if ((token + 1) * picks.shape().topk > kMostPicks) return too_many(picks.name(), rows.offset());
    core::Result<bool> added = true;
    if constexpr (kLogits)
      added = picks.add_logits(values_of<Value>(row));
    else
      added = picks.add_ids(values_of<Value>(row));
    if (!added)
      return at_offset(
          added.error(), picks.name(),
          rows.offset() + static_cast<std::size_t>(picks.refused_at()) * sizeof(Value));
  }
  if (rows.error()) return *rows.error();
  if (rows.left_over() > 0) return cut_off(rows, columns * sizeof(Value), picks.name());
  if (tokens >= 0 && picks.tokens() < tokens)
    return at_offset(
        input_error(fmt::format("the data end after {} of {} tokens", picks.tokens(), tokens),
                    "the file is not complete"),
        picks.name(), rows.end_offset());
  return picks.finish();
}

struct NpyHeader {
  std::size_t data = 0;  // where it begins
  std::string type = {};
  std::int64_t tokens = 0;
  std::int64_t columns = 0;
};

Error bad_header(const std::string& name, const std::string& what) {
  return at_offset(input_error("a damaged .npy header: " + what,
                               "expected what numpy.save writes of a two-dimensional array"),
                   name, 0);
}

// The text behind "'key':" in the header's dictionary.
std::string_view behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  const std::size_t begin = text.find_first_not_of(": ");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

std::optional<std::int64_t> whole_number(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of("( ,");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

core::Result<NpyHeader> read_header(std::string_view head, const std::string& name) {
  constexpr std::size_t kMagic = 6;
  const auto byte = [head](std::size_t at) { return static_cast<unsigned char>(head[at]); };
  if (head.size() < 12) return bad_header(name, "cut off");
  const bool is_short = byte(kMagic) == 1;
  std::size_t length = byte(8) + 256U * byte(9);
  if (!is_short) length += 65536U * byte(10) + 16777216UL * byte(11);
  NpyHeader header{.data = (is_short ? 10 : 12) + length};
  if (header.data > head.size()) return bad_header(name, fmt::format("{} bytes long", length));
  const std::string_view text = head.substr(0, header.data);
  const std::string_view type = behind(text, "'descr'");
  if (type.size() < 5 || type[0] != '\'') return bad_header(name, "no 'descr' of one type");
  header.type = std::string(type.substr(1, type.find('\'', 1) - 1));
  if (behind(text, "'fortran_order'").starts_with("True"))
    return at_offset(input_error("the array is in Fortran order", "numpy.ascontiguousarray first"),
                     name, 0);
  std::string_view shape = behind(text, "'shape'");
  const auto tokens = whole_number(shape), columns = whole_number(shape);
  if (!tokens || !columns || shape.find_first_of("0123456789)") == std::string_view::npos ||
      shape[shape.find_first_of("0123456789)")] != ')')
    return bad_header(name, "its shape is not (tokens, topk) or (tokens, experts)");
  header.tokens = *tokens;
  header.columns = *columns;
  return header;
}

template <class Value>
core::Result<model::Routing> read_array(core::Input& input, const RoutingShape& shape,
                                        const NpyHeader& header) {
  constexpr bool kLogits = std::is_floating_point_v<Value>;
  const std::int64_t wanted = kLogits ? shape.experts : shape.topk;
  if (header.columns != wanted)
    return at_offset(
        input_error(fmt::format("{} {} per token, expected {}", header.columns,
                                kLogits ? "logits" : "expert ids", wanted),
                    kLogits ? "--experts says how many there are" : "--topk says how many"),
        input.name(), 0);
  RowStream rows(input, header.data, static_cast<std::size_t>(wanted) * sizeof(Value));
  RoutingPicks picks(shape, input.name());
  return read_rows<Value>(rows, picks, header.tokens);
}

}  // namespace

core::Result<model::Routing> read_npy_routing(core::Input& input, const RoutingShape& shape) {
  const auto header = read_header(input.head(), input.name());
  if (!header) return header.error();
  using Reader =
      core::Result<model::Routing> (*)(core::Input&, const RoutingShape&, const NpyHeader&);
  static constexpr std::pair<const char*, Reader> kTypes[] = {
      {"<i8", read_array<std::int64_t>},  {"<i4", read_array<std::int32_t>},
      {"<i2", read_array<std::int16_t>},  {"|i1", read_array<std::int8_t>},
      {"<u8", read_array<std::uint64_t>}, {"<u4", read_array<std::uint32_t>},
      {"<u2", read_array<std::uint16_t>}, {"|u1", read_array<std::uint8_t>},
      {"<f4", read_array<float>},         {"<f8", read_array<double>}};
  for (const auto& [type, reader] : kTypes)
    if (header->type == type) return reader(input, shape, *header);
  // float16, and bfloat16, which numpy stores as two opaque bytes: a router's logits
  const bool may_be_logits = header->type.find_first_of("fV") != std::string::npos;
  return at_offset(
      input_error(fmt::format("numbers of type '{}'", header->type),
                  may_be_logits
                      ? "expected float32 for logits, little-endian: array.astype('float32')"
                      : "expected whole numbers or float32, little-endian: array.astype('int32')"),
      input.name(), 0);
}

core::Result<model::Routing> read_binary_routing(core::Input& input, const RoutingShape& shape) {
  RowStream rows(input, 0, static_cast<std::size_t>(shape.topk) * sizeof(std::int32_t));
  RoutingPicks picks(shape, input.name());
  return read_rows<std::int32_t>(rows, picks, -1);
}

}  // namespace comm_probe::serving
