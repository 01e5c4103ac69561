#include "cli/shell.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/terminal_progress.h"
#include "cli/version_text.h"
#include "core/language.h"
#include "core/units.h"
#include "report/page.h"

namespace comm_probe::cli {
namespace {

// Open MPI's mpirun gives its processes a terminal of its own and copies what they write there to
// wherever its own output goes.
bool writes_to_terminal() {
  return ::isatty(STDOUT_FILENO) == 1 && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
}

bool is_writable(const std::string& file) {
  const std::filesystem::path path(file);
  std::error_code ignored;
  const std::filesystem::path folder =
      path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  return !std::filesystem::is_directory(path, ignored) && ::access(folder.c_str(), W_OK) == 0;
}

// To the file, or to standard output where it has no name.
std::optional<core::Error> write_all(const std::string& file,
                                     const std::function<void(const report::Write&)>& produce) {
  std::FILE* out = file.empty() ? stdout : std::fopen(file.c_str(), "wb");
  if (out == nullptr) return cannot_write(file);
  bool written = true;
  produce([&](std::string_view text) {
    written = written && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  });
  const bool closed = file.empty() ? std::fflush(out) == 0 : std::fclose(out) == 0;
  if (written && closed) return std::nullopt;
  return core::input_error(fmt::format("cannot write all of the result to {}",
                                       file.empty() ? "standard output" : "'" + file + "'"));
}

// A result that is written over what it was made from is lost with it.
std::optional<core::Error> overwrites(const std::string& file, const core::Document& document) {
  std::error_code none;
  for (const core::InputRecord& input : document.inputs)
    if (!file.empty() && std::filesystem::equivalent(file, input.path, none) &&
        std::filesystem::is_regular_file(file, none))
      return core::input_error(fmt::format("'{}' is an input, and would be overwritten", file),
                               "name another file for the result");
  return std::nullopt;
}

int terminal_width() {
  winsize size = {};
  if (writes_to_terminal() && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::min<int>(size.ws_col, 160);
  return 100;
}

// A variable of a script that is empty, as in --html "$PAGE", would else write nothing without a
// word.
void add_file(CLI::App& app, const std::string& flags, std::string& target,
              const std::string& help) {
  const auto check = [](const std::string& file) -> std::string {
    return file.empty() ? "the name of the file is empty, expected one as in report.html" : "";
  };
  app.add_option(flags, target, help)->type_name("FILE")->check(check)->group("Common options");
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

void Shell::add_common_flags(CLI::App& app, Output output) {
  const char* group = "Common options";
  app.set_help_flag("-h,--help", "this text")->group(group);
  app.set_version_flag("--version", [&app] { return version_text(app.count("--verbose") > 0); })
      ->description("the version; with --verbose also the engines that are here")
      ->group(group);
  app.add_flag("--json", json_, "one JSON document on stdout, nothing else there")->group(group);
  if (output == Output::kPage) {
    add_file(app, "-o,--html,--output", html_, "the page to write");
  } else {
    add_file(app, "--output", output_, "write the result to FILE instead of stdout");
    add_file(app, "--html", html_, "also write a page for the browser into FILE");
  }
  add_choice(app, "--color", color_, "colours in the text", {"auto", "always", "never"})
      ->group(group);
  app.add_option_function<std::string>(
         "--lang",
         [](const std::string& name) {
           core::set_language(name == "zh" ? core::Language::kChinese : core::Language::kEnglish);
         },
         "help, what findings mean, and all that explain says, in English or Chinese")
      ->check(CLI::IsMember({"en", "zh"}).description(""))
      ->type_name("en|zh")
      ->group(group);
  app.add_flag("-q", quiet_, "caveats, verdict and findings only")->group(group);
  app.add_flag("-v,--verbose,--explain", details_,
               "also the cost tree, rejected candidates, the path of a verdict")
      ->group(group);
}

// Said before a long measurement, not after it.
std::optional<core::Error> Shell::check_targets() const {
  if (html_ == "-")
    return core::input_error("--html -: a page is not written to standard output",
                             "give the name of a file, as in report.html");
  if (!html_.empty() && html_ == output_)
    return core::input_error(fmt::format("--html and --output both name '{}'", html_),
                             "expected a file for each");
  if (!html_.empty() && !is_writable(html_)) return cannot_write(html_);
  if (!output_.empty() && !is_writable(output_)) return cannot_write(output_);
  return std::nullopt;
}

int Shell::perform() {
  if (output_ == "-") output_.clear();
  if (const auto error = check_targets()) return fail(*error);
  if (!quiet_ && !json_) show_progress();
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

int Shell::finish(const core::Document& document, const core::Json& pictures) const {
  end_progress();
  std::optional<core::Error> error = overwrites(html_, document);
  if (!error) error = overwrites(output_, document);
  if (!error && wants_page())
    error = write_all(
        html_, [&](const report::Write& write) { report::write_page(document, pictures, write); });
  if (!error)
    error = write_all(output_, [&](const report::Write& write) {
      if (json_)
        report::write_json(document, quiet_ ? core::Json::object() : pictures, write);
      else
        write(report::render_text(document, style()));
    });
  return error ? fail(*error) : document.exit_status();
}

int Shell::fail(const core::Error& error) const {
  end_progress();
  std::fprintf(stderr, "comm-probe: %s\n", error.one_line().c_str());
  return static_cast<int>(error.code);
}

void Shell::progress(const std::string& text) const { terminal_progress().say(text); }
void Shell::end_progress() const { terminal_progress().end(); }

}  // namespace comm_probe::cli
