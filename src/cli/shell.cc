#include "cli/shell.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/units.h"

namespace comm_probe::cli {
namespace {

// Open MPI's mpirun gives its processes a terminal of its own and copies what they write there to
// wherever its own output goes.
bool writes_to_terminal() {
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
}

int terminal_width() {
  winsize size = {};
  if (writes_to_terminal() && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::min<int>(size.ws_col, 160);
  return 100;
}

template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& flags, T& target, const std::string& help,
                        Parse parse, const char* type) {
  const std::string name = flags.substr(0, flags.find(','));
  const auto assign = [&target, parse, name](const CLI::results_t& values) {
    const core::Result<T> parsed = parse(values.front());
    if (!parsed) throw CLI::ValidationError(name, parsed.error().one_line());
    target = *parsed;
    return true;
  };
  return app.add_option(flags, assign, help)->type_name(type);
}

}  // namespace

core::Error cannot_write(const std::string& file) {
  return core::input_error(fmt::format("cannot write '{}', expected a writable file", file));
}

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

CLI::Option* add_choice(CLI::App& app, const std::string& flags, std::string& target,
                        const std::string& help, std::vector<std::string> choices) {
  const std::string type = fmt::format("{}", fmt::join(choices, "|"));
  const auto check = [choices = std::move(choices), type](const std::string& word) -> std::string {
    if (std::find(choices.begin(), choices.end(), word) != choices.end()) return "";
    return fmt::format("'{}' is not known, expected {}", word, type);
  };
  return app.add_option(flags, target, help)->type_name(type)->check(check);
}

void Shell::add_common_flags(CLI::App& app) {
  const char* group = "Common options";
  app.set_help_flag("-h,--help", "this text")->group(group);
  app.set_version_flag("--version", std::string("comm-probe ") + report::kVersion)
      ->description("the version, and nothing else")
      ->group(group);
  app.add_flag("--json", json_, "one JSON document on stdout, nothing else there")->group(group);
  app.add_option("--output", output_, "write the result to FILE instead of stdout")
      ->type_name("FILE")
      ->group(group);
  // shown in the help of commands that write one (show_page_flag)
  app.add_option("--html", html_, "a page for the browser")->type_name("FILE")->group("");
  add_choice(app, "--color", color_, "colours in the text", {"auto", "always", "never"})
      ->group(group);
  app.add_flag("-q", quiet_, "caveats, verdict and findings only")->group(group);
  app.add_flag("-v,--explain", details_,
               "also the cost tree, rejected candidates, the path of a verdict")
      ->group(group);
}

void Shell::run_with_page(std::function<int()> action) {
  has_page_ = true;
  run(std::move(action));
}

core::Result<bool> Shell::write_page(std::string_view page) const {
  std::ofstream out(html_, std::ios::binary);
  out << page;
  out.close();
  if (!out) return cannot_write(html_);
  return true;
}

void show_page_flag(CLI::App& app, const std::string& help) {
  app.get_option("--html")->description(help)->group("Common options");
}

int Shell::perform() {
  if (!html_.empty() && !has_page_)
    return fail(core::missing_error(
        fmt::format("--html {}: this release writes no page for a browser here", html_),
        "--json has all of the content, `topo show --svg FILE` draws a machine, `trace --html "
        "FILE` "
        "a time line"));
  if (output_ == "-") output_.clear();
  if (!output_.empty()) {  // said before a long measurement, not after it
    const std::filesystem::path path(output_);
    std::error_code ignored;
    const std::filesystem::path folder =
        path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    if (std::filesystem::is_directory(path, ignored) || ::access(folder.c_str(), W_OK) != 0)
      return fail(cannot_write(output_));
  }
  return action_ ? action_() : 0;
}

report::TextStyle Shell::style() const {
  report::TextStyle style;
  style.width = output_.empty() ? terminal_width() : 100;
  style.color = color_ == "always" || (color_ == "auto" && output_.empty() &&
                                       writes_to_terminal() && std::getenv("NO_COLOR") == nullptr);
  style.details = details_;
  style.quiet = quiet_;
  return style;
}

int Shell::finish(const core::Document& document) const {
  std::FILE* out = output_.empty() ? stdout : std::fopen(output_.c_str(), "w");
  if (out == nullptr) return fail(cannot_write(output_));
  bool written = true;
  const auto write = [&](std::string_view text) {
    written = written && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  };
  if (json_)
    report::write_json(document, write);
  else
    write(report::render_text(document, style()));
  const bool closed = output_.empty() ? std::fflush(out) == 0 : std::fclose(out) == 0;
  if (!written || !closed)
    return fail(
        core::input_error(fmt::format("cannot write all of the result to {}",
                                      output_.empty() ? "standard output" : "'" + output_ + "'")));
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
