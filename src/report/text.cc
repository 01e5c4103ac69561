#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/language.h"
#include "core/units.h"
#include "report/layout.h"
#include "report/report.h"
#include "report/words.h"

namespace comm_probe::report {
namespace {

using core::Finding;
using core::Severity;

class TextWriter {
 public:
  // `has_terms`: the names of its values are what a person types, as `explain ring`.
  explicit TextWriter(const TextStyle& style, bool has_terms = false)
      : style_(style),
        width_(static_cast<std::size_t>(std::max(style.width, 40))),
        has_terms_(has_terms) {}

  void block(const core::Block& block) {
    std::visit([this](const auto& content) { write(content); }, block);
  }
  // In another language its own sentence comes first, and the English one with its figures behind
  // it.
  void verdict(const core::Document& document) {
    const std::string translated = verdict_in_language(document);
    if (!translated.empty()) sentence(translated);
    if (translated.empty())
      sentence(document.verdict);
    else
      labelled(word("in English"), document.verdict, 2, "0");
  }
  void caveat(const core::Caveat& caveat) {
    labelled(word("caveat"), fmt::format("{}: {}; {}", caveat.id, caveat.missing, caveat.effect), 0,
             "33");
    in_other_words(caveat.id, {"meaning", "cure"});
  }
  void finding(const Finding& finding, bool is_said);
  // What is left of a group of statements; nothing where `text` is empty.
  void rest(const std::string& text, std::size_t indent) {
    if (text.empty()) return;
    text_ += std::string(indent, ' ') + indented(wrap(text, width_ - indent), indent) + "\n";
  }
  void blank_line() {
    if (!text_.empty() && !text_.ends_with("\n\n")) text_ += "\n";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_of(const std::string& name) const {
    return printable(has_terms_ ? name : word(name));
  }
  void sentence(const std::string& text) {
    text_ += painted(indented(wrap(printable(text), width_ - 2), 2), "1") + "\n";
  }
  void write(const core::Heading& heading) {
    blank_line();
    text_ += painted(printable(word(heading.text)), "1") + "\n";
  }
  void write(const core::Paragraph& paragraph) {
    const std::size_t indent = paragraph.text.starts_with("- ") ? 2 : 0;  // under the words
    text_ += indented(wrap(printable(paragraph.text), width_ - indent), indent) + "\n";
  }
  void write(const core::Preformatted& preformatted) {
    std::string_view rest = preformatted.text;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      text_ += printable(rest.substr(0, end)) + "\n";
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  void write(const core::KeyValues& pairs);
  void write(const core::Table& table) { text_ += render_table(in_words(table), width_); }

  void labelled(std::string_view label, const std::string& text, std::size_t indent,
                const char* color) {
    const std::size_t width = display_width(label);
    const std::size_t column = indent + std::max<std::size_t>(width + 2, 10);
    text_ += std::string(indent, ' ') + painted(label, color) +
             std::string(column - indent - width, ' ');
    text_ += indented(wrap(printable(text), width_ - column), column) + "\n";
  }
  // What a finding or caveat is about, in the language of --lang; nothing in English, where
  // `explain` says it.
  void in_other_words(const std::string& id, std::initializer_list<const char*> fields) {
    for (const char* field : fields) {
      const std::string_view text = core::translation(core::language(), "findings", id, field);
      if (!text.empty()) labelled(word(field), std::string(text), 2, "0");
    }
  }
  std::string painted(std::string_view text, const char* code) const {
    return style_.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }

  const TextStyle& style_;
  std::size_t width_;
  bool has_terms_;
  std::string text_ = {};
};

// A name that would leave its value less than half of the line stands on a line of its own.
void TextWriter::write(const core::KeyValues& pairs) {
  std::size_t column = 0;
  for (const auto& [name, value] : pairs.rows)
    if (const std::size_t width = display_width(name_of(name)) + 2; width <= width_ / 2)
      column = std::max(column, width);
  if (column == 0) column = 4;
  for (const auto& [name, value] : pairs.rows) {
    const std::string label = pad(name_of(name), column, core::Column::Align::kLeft);
    const bool beside = display_width(label) == column;
    text_ += beside ? label : label + "\n" + std::string(column, ' ');
    text_ += indented(wrap(printable(value), width_ - column), column) + "\n";
  }
}

std::string show(const core::Figure& figure) {
  std::string text = core::format_number(figure.value);
  if (!figure.unit.empty()) text += " " + figure.unit;
  if (figure.source.empty() && figure.basis == core::Basis::kRead)
    return fmt::format("{} ({})", text, word("as read"));
  text += fmt::format(" ({}", word(basis_name(figure.basis)));
  return text + (figure.source.empty() ? ")" : ": " + figure.source + ")");
}

void TextWriter::finding(const Finding& finding, bool is_said) {
  const char* color = finding.severity == Severity::kError     ? "1;31"
                      : finding.severity == Severity::kWarning ? "1;33"
                                                               : "36";
  labelled(word(severity_name(finding.severity)),
           fmt::format("{}  [{}, {}]", finding.id,
                       word(fmt::format("{} layer", layer_name(finding.layer))),
                       word(confidence_name(finding.confidence))),
           0, color);
  in_other_words(finding.id, {"meaning"});
  if (!is_said) text_ += "  " + indented(wrap(printable(finding.summary), width_ - 2), 2) + "\n";
  if (!finding.ranks.empty()) labelled(word("ranks"), ranges(finding.ranks), 2, "0");
  if (finding.expected) labelled(word("expected"), show(*finding.expected), 2, "0");
  if (finding.observed) labelled(word("observed"), show(*finding.observed), 2, "0");
  if (finding.explains) labelled(word("explains"), show(*finding.explains), 2, "0");
  for (const core::Evidence& evidence : finding.evidence) {
    const std::string place =
        evidence.line ? fmt::format("{}:{}", evidence.source, *evidence.line) : evidence.source;
    const std::string quoted = shorten(evidence.text, 3 * width_);  // a line may be a megabyte
    labelled(word("evidence"), place.empty() ? quoted : place + ": " + quoted, 2, "0");
  }
  for (const std::string& command : finding.next) labelled(word("next"), command, 2, "32");
  in_other_words(finding.id, {"cause", "cure"});
}

// One id a thousand times (every table of a soak test) is one thing to know: the first few stand in
// full, the others are counted.
constexpr std::size_t kMostOfOneId = 20;
constexpr std::size_t kShownOfMany = 5;

// Counts the statements of each id, and says which of them are shown.
class Groups {
 public:
  template <class Statement>
  explicit Groups(const std::vector<Statement>& all) {
    for (const Statement& each : all) ++groups_[each.id].all;
  }
  bool takes(const std::string& id) {
    Group& group = groups_[id];
    if (group.all > kMostOfOneId && group.shown >= kShownOfMany) return false;
    ++group.shown;
    return true;
  }
  // Behind the last one shown of an id: "and 995 more of curve.latency-high; --json has them all".
  std::string rest(const std::string& id) const {
    const Group& group = groups_.at(id);
    if (group.all <= kMostOfOneId || group.shown < kShownOfMany) return "";
    if (core::language() != core::Language::kEnglish)
      return fmt::format(fmt::runtime(word("and {} more")), group.all - group.shown, id);
    return fmt::format("and {} more of {}; --json has them all", group.all - group.shown, id);
  }

 private:
  struct Group {
    std::size_t all = 0;
    std::size_t shown = 0;
  };
  std::map<std::string, Group> groups_ = {};
};

std::vector<const Finding*> in_order(const core::Document& document) {
  std::vector<const Finding*> sorted;
  for (const Finding& finding : document.findings) sorted.push_back(&finding);
  if (document.is_ranked) return sorted;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->severity < b->severity; });
  return sorted;
}

}  // namespace

std::string render_text(const core::Document& document, const TextStyle& style) {
  TextWriter writer(style, document.command == "explain");
  Groups caveats(document.caveats), findings(document.findings);
  for (const core::Caveat& caveat : document.caveats) {
    if (!caveats.takes(caveat.id)) continue;
    writer.caveat(caveat);
    writer.rest(caveats.rest(caveat.id), 10);
  }
  if (!document.verdict.empty()) writer.verdict(document);
  for (const Finding* finding : in_order(document)) {
    if (!findings.takes(finding->id)) continue;
    writer.blank_line();
    // The verdict of a ranked document is its first finding: its sentence stands there already.
    const bool is_said = document.is_ranked && finding == &document.findings.front() &&
                         document.verdict.find(finding->summary) != std::string::npos;
    writer.finding(*finding, is_said);
    writer.rest(findings.rest(finding->id), 2);
  }
  if (!style.quiet) {
    const bool has_more = !document.body.empty() || (style.details && !document.details.empty());
    if (has_more) writer.blank_line();  // writes nothing at the beginning
    for (const core::Block& block : document.body) writer.block(block);
    if (style.details)
      for (const core::Block& block : document.details) writer.block(block);
  }
  return writer.take();
}

std::string render_block(const core::Block& block, const TextStyle& style) {
  TextWriter writer(style);
  writer.block(block);
  return writer.take();
}

}  // namespace comm_probe::report
