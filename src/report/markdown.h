// The pages of docs/ that are generated from tables: every finding and caveat with meaning, cause
// and cure, every term, the misconceptions and topics. `make docs` writes them; tests/golden/docs
// fails where a committed page is old.
#pragma once

#include <string>

namespace comm_probe::report {

std::string findings_markdown();
std::string terms_markdown();
std::string misconceptions_markdown();

}  // namespace comm_probe::report
