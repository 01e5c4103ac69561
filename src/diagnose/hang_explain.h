// One explanation each: from what the rules found to a verdict with its evidence.
#pragma once

#include <vector>

#include "diagnose/hang.h"
#include "diagnose/hang_mismatch.h"
#include "diagnose/hang_waits.h"

namespace comm_probe::diagnose {

HangVerdict explain_mismatch(const HangState& state, const Mismatch& mismatch);
HangVerdict explain_unequal_message(const HangState& state, const OpenMessage& message);
// Ranks whose completions are not seen although the peers completed the same calls.
HangVerdict explain_broken(const HangState& state, const std::vector<int>& ranks);
// A rank that owes a call because it has skipped another one that looked the same.
HangVerdict explain_silent_shift(const HangState& state, int rank, const SilentShift& silent);
// Ranks that owe a call and have nothing open.
HangVerdict explain_idle(const HangState& state, const std::vector<int>& ranks);
// One rank has a call open that all others have completed, and the next one as well.
bool is_passed_by_others(const HangState& state, const CallKey& call);
HangVerdict explain_passed(const HangState& state, const CallKey& call);
// Ranks that owe a call and left no dump.
HangVerdict explain_missing(const HangState& state, const std::vector<int>& ranks);
// A rank that has kept up with every collective of its groups and has not issued a message for
// which others wait.
HangVerdict explain_unsent(const HangState& state, const WaitRoot& root);
HangVerdict explain_circle(const HangState& state, const WaitRoot& root);
// Everybody is in the call, with equal arguments.
HangVerdict explain_agreement(const HangState& state, const CallKey& call);
// Both ends of every message of these works are there.
HangVerdict explain_message_agreement(const HangState& state,
                                      const std::vector<OpenMessage>& messages,
                                      const std::vector<int>& ranks);

// The call that `ranks` owe to ranks that wait in it; of several the one that would have come
// first.
std::optional<CallKey> owed_call(const HangState& state, const std::vector<int>& ranks);
HangSide side_of(const HangState& state, const std::vector<int>& ranks, const torch::Work& work,
                 const std::string& state_text);
// All ranks with an open work that are none of `culprits`.
std::vector<int> victims_of(const HangState& state, const std::vector<int>& culprits);

}  // namespace comm_probe::diagnose
