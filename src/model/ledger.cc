#include "model/ledger.h"

namespace comm_probe::model {

core::Duration Ledger::latency() const {
  core::Duration sum;
  for (const Term& term : terms) sum += term.latency();
  return sum;
}

core::Duration Ledger::bandwidth() const {
  core::Duration sum;
  for (const Term& term : terms) sum += term.bandwidth();
  return sum;
}

double Ledger::latency_share() const {
  const core::Duration total = time();
  return total.in_seconds() > 0 ? latency() / total : 0;
}

core::Bandwidth Ledger::algbw() const {
  const core::Duration total = time();
  return total.in_seconds() > 0 ? collective.bytes / total : core::Bandwidth();
}

core::Bandwidth Ledger::busbw() const {
  return algbw() * busbw_factor(collective.op, collective.ranks);
}

double Ledger::plateau_share() const {
  return plateau_busbw > core::Bandwidth() ? busbw() / plateau_busbw : 0;
}

void add_bytes(Ledger& ledger, Term term, core::Duration time) {
  if (term.bytes.count() <= 0 || time.in_seconds() < kNoTime) return;
  term.link = {core::Duration(), term.bytes / time};
  ledger.terms.push_back(std::move(term));
}

}  // namespace comm_probe::model
