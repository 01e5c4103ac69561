#include "measure/element.h"

#include "core/check.h"

namespace comm_probe::measure {
namespace {

struct ElementRow {
  Element element;
  const char* name;
  std::string_view short_name;
};
constexpr std::array<ElementRow, 6> kElements = {{{Element::kF32, "float", "f32"},
                                                  {Element::kF64, "double", "f64"},
                                                  {Element::kBf16, "bfloat16", "bf16"},
                                                  {Element::kF16, "half", "f16"},
                                                  {Element::kI32, "int32", "i32"},
                                                  {Element::kU8, "uint8", "u8"}}};

const ElementRow& row_of(Element element) {
  for (const ElementRow& row : kElements)
    if (row.element == element) return row;
  core::report_bug(__FILE__, __LINE__, "an element type is not in the table");
}

}  // namespace

const char* element_name(Element element) { return row_of(element).name; }

std::optional<Element> element_from_name(std::string_view name) {
  for (const ElementRow& row : kElements)
    if (row.name == name || row.short_name == name) return row.element;
  if (name == "int") return Element::kI32;
  return std::nullopt;
}

const char* reduction_name(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return "sum";
    case Reduction::kProd:
      return "prod";
    case Reduction::kMin:
      return "min";
    case Reduction::kMax:
      return "max";
    case Reduction::kAvg:
      return "avg";
  }
  core::report_bug(__FILE__, __LINE__, "a reduction has no name");
}

std::optional<Reduction> reduction_from_name(std::string_view name) {
  for (const Reduction reduction : kAllReductions)
    if (name == reduction_name(reduction)) return reduction;
  return std::nullopt;
}

}  // namespace comm_probe::measure
