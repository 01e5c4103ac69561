#include "cli/shell.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

int terminal_width() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::min<int>(size.ws_col, 160);
  return 100;
}

template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& flags, T& target, const std::string& help,
                        Parse parse, const char* type) {
  const auto assign = [&target, parse](const CLI::results_t& values) {
    const core::Result<T> parsed = parse(values.front());
    if (!parsed) throw CLI::ValidationError(parsed.error().one_line());
    target = *parsed;
    return true;
  };
  return app.add_option(flags, assign, help)->type_name(type);
}

}  // namespace

CLI::Option* add_bytes(CLI::App& app, const std::string& flags, core::Bytes& target,
                       const std::string& help) {
  return add_parsed(app, flags, target, help, core::parse_bytes, "SIZE");
}
CLI::Option* add_duration(CLI::App& app, const std::string& flags, core::Duration& target,
                          const std::string& help) {
  return add_parsed(app, flags, target, help, core::parse_duration, "TIME");
}
CLI::Option* add_bandwidth(CLI::App& app, const std::string& flags, core::Bandwidth& target,
                           const std::string& help) {
  return add_parsed(app, flags, target, help, core::parse_bandwidth, "BW");
}

void Shell::add_common_flags(CLI::App& app) {
  app.add_flag("--json", json_, "one JSON document on stdout, nothing else");
  app.add_option("--output", output_, "write the result to FILE instead of stdout")
      ->type_name("FILE");
  app.add_option("--color", color_, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  app.add_flag("-q", quiet_, "verdict, caveats and findings only");
  app.add_flag("-v", verbose_, "more detail");
  app.add_flag("--explain", explain_, "the cost tree, rejected candidates, the path of a verdict");
}

report::TextStyle Shell::style() const {
  report::TextStyle style;
  style.width = output_.empty() ? terminal_width() : 100;
  style.color =
      color_ == "always" || (color_ == "auto" && output_.empty() && ::isatty(STDOUT_FILENO) == 1 &&
                             std::getenv("NO_COLOR") == nullptr);
  style.details = explain_ || verbose_;
  style.quiet = quiet_;
  return style;
}

int Shell::finish(const core::Document& document) const {
  const std::string text =
      json_ ? report::render_json(document) : report::render_text(document, style());
  std::FILE* out = output_.empty() ? stdout : std::fopen(output_.c_str(), "w");
  if (out == nullptr)
    return fail(core::input_error(fmt::format("cannot write '{}'", output_),
                                  "--output needs a writable file"));
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool closed = output_.empty() ? std::fflush(out) == 0 : std::fclose(out) == 0;
  if (!written || !closed)
    return fail(core::input_error(fmt::format("cannot write '{}' to the end",
                                              output_.empty() ? "standard output" : output_)));
  return document.exit_status();
}

int Shell::fail(const core::Error& error) const {
  std::fprintf(stderr, "comm-probe: %s\n", error.one_line().c_str());
  return static_cast<int>(error.code);
}

void Shell::progress(const std::string& text) const {
  if (!quiet_ && ::isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
}
void Shell::end_progress() const {
  if (!quiet_ && ::isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\x1b[K");
}

}  // namespace comm_probe::cli
