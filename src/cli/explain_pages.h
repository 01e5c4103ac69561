// The longer answers of `explain` as documents: misconceptions and topics (core/pages.h).
#pragma once

#include <optional>
#include <string>

#include "core/document.h"
#include "core/pages.h"

namespace comm_probe::cli {

// In the language of --lang: what stands before a text, and what a topic asks.
std::string label(std::string_view english);
std::string question_of(const core::Topic& topic);

core::Document list_misconceptions();
core::Document explain_misconception(const core::Misconception& one);
core::Document explain_topic(const core::Topic& topic);
// A completion status of RDMA: "status 12", "RETRY_EXC_ERR"; nothing for other words.
std::optional<core::Document> explain_status(const std::string& word);

}  // namespace comm_probe::cli
