#include "diagnose/link_verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "diagnose/link_matrices.h"
#include "diagnose/link_tests.h"
#include "diagnose/outliers.h"

namespace comm_probe::diagnose {
namespace {

using curve::LinkMatrix;
using curve::LinkRow;
using curve::LinkTest;

struct Compared {
  const LinkTest* test = nullptr;
  const LinkReference* reference = nullptr;
};

bool has_result(const LinkTest& test) { return !test.rows.empty() || !test.matrices.empty(); }

// It was compared with a port and is not below it: judge_link_test() says the rest.
bool is_at_its_port(const Compared& compared) {
  const LinkRow* row = is_over_one_port(*compared.test) ? best_row(*compared.test) : nullptr;
  const auto ceiling = link_ceiling(*compared.test, *compared.reference);
  return row != nullptr && ceiling && *row->average >= ceiling->carries * 0.85;
}

std::string bandwidth_text(const Compared& compared, const LinkRow& row) {
  const LinkTest& test = *compared.test;
  const std::string rate = fmt::format("{} Gb/s", core::format_number(row.average->in_Gbps()));
  const auto ceiling = link_ceiling(test, *compared.reference);
  if (ceiling && is_over_one_port(test))
    return fmt::format("{}: {}, {} of the {} that its {} carries ({})", name_of(test), rate,
                       core::format_percent(*row.average / ceiling->carries, 3),
                       core::format_number(ceiling->carries.in_Gbps()),
                       ceiling->slot_limits ? "slot" : "port", ceiling->text);
  const core::Bandwidth one_way = test.bidirectional ? *row.average * 0.5 : *row.average;
  return fmt::format("{}: {}{}, {}; the text does not say what port and slot it has", name_of(test),
                     rate, test.bidirectional ? " both ways together" : "", port_meaning(one_way));
}

std::string matrix_text(const LinkTest& test) {
  const LinkMatrix* chosen = nullptr;
  for (const LinkMatrix& matrix : test.matrices)
    if (matrix.kind == curve::MatrixKind::kDeviceToDevice &&
        (chosen == nullptr || (chosen->peer_access != curve::PeerAccess::kEnabled &&
                               matrix.peer_access == curve::PeerAccess::kEnabled)))
      chosen = &matrix;
  if (chosen == nullptr) return "";
  const std::vector<double> figures = figures_between(*chosen);
  if (figures.empty()) return "";
  const auto [least, most] = std::minmax_element(figures.begin(), figures.end());
  const bool is_compared =
      compares_gpus(*chosen) && has_every_pair(*chosen) && chosen->columns.size() >= kLeastGpus;
  return fmt::format("{}: {} GPUs, {} to {} GB/s between them{}", name_of(test),
                     chosen->columns.size(), core::format_number(*least),
                     core::format_number(*most),
                     is_compared                ? "; no GPU and no pair stands out"
                     : !has_every_pair(*chosen) ? "; some pairs have no figure: not compared"
                                                : "");
}

std::string one_test(const Compared& compared) {
  const LinkTest& test = *compared.test;
  if (!has_result(test)) return fmt::format("nothing measured: {} has no result", name_of(test));
  const LinkRow* row = is_between_nics(test) ? best_row(test) : nullptr;
  if (row != nullptr)
    return (is_at_its_port(compared) ? "healthy: " : "consistent: ") +
           bandwidth_text(compared, *row);
  if (const std::string matrix = matrix_text(test); !matrix.empty()) return "consistent: " + matrix;
  if (!test.rows.empty() && test.rows.front().latency())
    return fmt::format("consistent: {}: {} at {}", name_of(test),
                       core::format_duration(*test.rows.front().latency()),
                       core::format_bytes(test.rows.front().bytes));
  return fmt::format("consistent: {}: nothing in it contradicts itself", name_of(test));
}

}  // namespace

std::string link_verdict(std::span<const JudgedReading> readings) {
  std::vector<Compared> all;
  for (const JudgedReading& reading : readings)
    for (std::size_t i = 0; i < reading.link_references.size(); ++i)
      all.push_back({&reading.reading->links[i], &reading.link_references[i]});
  if (all.empty()) return "";
  if (all.size() == 1) return one_test(all.front());
  const auto at_port = std::count_if(all.begin(), all.end(), is_at_its_port);
  const auto empty = std::count_if(all.begin(), all.end(),
                                   [](const Compared& each) { return !has_result(*each.test); });
  std::string text = fmt::format("{} tests of links", all.size());
  if (static_cast<std::size_t>(at_port) == all.size())
    return fmt::format("healthy: {}, all at what their ports carry", text);
  if (at_port > 0) text += fmt::format(", {} of them at what the port carries", at_port);
  if (empty > 0) text += fmt::format(", {} without a result", empty);
  return fmt::format("consistent: {}; nothing in them contradicts itself", text);
}

}  // namespace comm_probe::diagnose
