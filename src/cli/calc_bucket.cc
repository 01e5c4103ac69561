// `calc bucket`: the gradients of data-parallel training in buckets.
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "cli/calc.h"
#include "cli/ledger_view.h"
#include "core/spelling.h"
#include "core/units.h"
#include "model/buckets.h"
#include "model/merge.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using core::format_bandwidth;
using core::format_bytes;
using core::format_duration;
using core::format_percent;
using core::input_error;
using core::Json;
using core::json_number;
using model::BucketLedger;

struct BucketFlags {
  std::string params = {};
  std::string dtype = "fp32";
  int ranks = 0;
  core::Duration alpha = {};
  core::Bandwidth beta = {};
  double bucket_mb = 25;
  core::Duration backward = {};
  CLI::Option* backward_option = nullptr;
};

struct GradientType {
  std::string_view name;
  int bytes;
};
// As papers, PyTorch, nccl-tests and the issue of `bench` call them.
constexpr std::array kTypes = {
    GradientType{"fp64", 8},    GradientType{"fp32", 4},     GradientType{"bf16", 2},
    GradientType{"fp16", 2},    GradientType{"fp8", 1},      GradientType{"float64", 8},
    GradientType{"float32", 4}, GradientType{"bfloat16", 2}, GradientType{"float16", 2},
    GradientType{"double", 8},  GradientType{"float", 4},    GradientType{"half", 2},
    GradientType{"f64", 8},     GradientType{"f32", 4},      GradientType{"f16", 2},
};

core::Result<int> bytes_of_type(const std::string& name) {
  std::vector<std::string_view> known;
  for (const GradientType& type : kTypes) {
    if (type.name == name) return type.bytes;
    known.push_back(type.name);
  }
  return input_error(core::unknown_word("data type", name, known));
}

// "7e9", "125M", "7B": powers of 1000, as models are named.
core::Result<double> number_of_params(const std::string& text) {
  constexpr std::array<std::pair<char, double>, 5> kSuffixes = {
      {{'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'B', 1e9}, {'T', 1e12}}};
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double factor = suffix.empty() ? 1 : 0;
  for (const auto& [letter, value] : kSuffixes)
    if (suffix.size() == 1 && std::toupper(static_cast<unsigned char>(suffix[0])) == letter)
      factor = value;
  if (error != std::errc() || factor == 0)
    return input_error(fmt::format("--params {} is not a number of parameters", text),
                       "expected one like 7e9, 125M or 7B");
  constexpr double kMostParams = 1e15;
  if (!(count * factor >= 1 && count * factor <= kMostParams))
    return input_error(fmt::format("--params {} is outside 1 to 1e15", text));
  return count * factor;
}

core::Result<model::BucketRule> rule_of(const BucketFlags& flags) {
  const auto size = bytes_of_type(flags.dtype);
  if (!size) return size.error();
  const auto params = number_of_params(flags.params);
  if (!params) return params.error();
  constexpr double kMostMebibytes = 1e9;
  if (!(flags.bucket_mb > 0 && flags.bucket_mb <= kMostMebibytes))
    return input_error(
        fmt::format("--bucket-mb {} is no bucket size, expected more than 0 and "
                    "at most 1e9 MiB",
                    flags.bucket_mb));
  model::BucketRule rule{.gradients = core::Bytes::of(std::round(*params)) * *size,
                         .cap = core::Bytes::of(std::round(flags.bucket_mb * 1048576))};
  rule.first = std::min(rule.first, rule.cap);
  if (flags.backward_option->count() > 0) rule.backward = flags.backward;
  return rule;
}

core::Result<BucketLedger> price(const BucketFlags& flags, model::BucketRule rule, double factor) {
  rule.cap = rule.cap * factor;
  return model::price_buckets(rule, flags.ranks, {}, {.link = {flags.alpha, flags.beta}});
}

Json overlap_json(const model::Overlap& overlap) {
  return {{"hidden_us", json_number(overlap.hidden.in_us())},
          {"exposed_us", json_number(overlap.exposed.in_us())},
          {"hidden_share", json_number(overlap.hidden_share)}};
}

Json bucket_json(const BucketLedger& ledger) {
  Json json = {{"gradient_bytes", core::json_bytes(ledger.rule.gradients)},
               {"bucket_bytes", core::json_bytes(ledger.rule.cap)},
               {"first_bucket_bytes", core::json_bytes(ledger.rule.first)},
               {"buckets", ledger.count},
               {"bucket", to_json(ledger.full)},
               {"last_bucket",
                {{"bytes", core::json_bytes(ledger.last.collective.bytes)},
                 {"time_us", json_number(ledger.last.time().in_us())}}},
               {"share_of_plateau", json_number(ledger.full.plateau_share())},
               {"latency_us", json_number(ledger.latency.in_us())},
               {"time_us", json_number(ledger.total.in_us())},
               {"merged_into_one",
                {{"time_us", json_number(ledger.in_one.time().in_us())},
                 {"saves_us", json_number((ledger.total - ledger.in_one.time()).in_us())}}}};
  if (ledger.rule.backward) json["backward_us"] = json_number(ledger.rule.backward->in_us());
  json["overlap"] = ledger.overlap ? overlap_json(*ledger.overlap) : Json();
  json["basis"] = "computed";
  return json;
}

bool is_free(const BucketLedger& ledger) { return ledger.total <= core::Duration(); }

// A bucket larger than what follows the first one never fills.
bool fills_a_bucket(const BucketLedger& ledger) {
  return ledger.rule.gradients >= ledger.rule.first + ledger.rule.cap ||
         ledger.rule.first == ledger.rule.cap;
}

core::KeyValues summary(const BucketLedger& ledger) {
  core::KeyValues pairs;
  pairs.rows = {
      {"gradients",
       fmt::format("{} in {} bucket{} of {}, the first {}", format_bytes(ledger.rule.gradients),
                   ledger.count, ledger.count == 1 ? "" : "s", format_bytes(ledger.rule.cap),
                   format_bytes(ledger.rule.first))}};
  if (is_free(ledger)) return pairs;
  if (fills_a_bucket(ledger))
    pairs.rows.emplace_back(
        "one bucket",
        fmt::format("{} = {} latency + {} bandwidth; {} of the plateau of {}",
                    format_duration(ledger.full.time()), format_duration(ledger.full.latency()),
                    format_duration(ledger.full.bandwidth()),
                    format_percent(ledger.full.plateau_share()),
                    format_bandwidth(ledger.full.plateau_busbw)));
  const std::pair<std::string, std::string> rest[] = {
      {"all buckets", fmt::format("{}, of it {} latency", format_duration(ledger.total),
                                  format_duration(ledger.latency))},
      {"merging",
       fmt::format("one call with everything takes {}: it saves {}, and can hide nothing "
                   "behind the backward pass",
                   format_duration(ledger.in_one.time()),
                   format_duration(ledger.total - ledger.in_one.time()))}};
  pairs.rows.insert(pairs.rows.end(), std::begin(rest), std::end(rest));
  pairs.rows.emplace_back(
      "link", fmt::format("alpha {}, beta {} ({}: {})", format_duration(ledger.full.link.alpha),
                          format_bandwidth(ledger.full.link.beta), basis_name(ledger.full.basis),
                          ledger.full.source));
  if (ledger.overlap)
    pairs.rows.emplace_back(
        "overlap",
        fmt::format("{} of {} hide behind a backward pass of {}; {} stay exposed",
                    format_duration(ledger.overlap->hidden), format_duration(ledger.total),
                    format_duration(*ledger.rule.backward),
                    format_duration(ledger.overlap->exposed)));
  return pairs;
}

// What other bucket sizes would do; a size that cannot be priced is left out.
core::Table alternatives(const BucketFlags& flags, const model::BucketRule& rule, Json& json) {
  using Align = core::Column::Align;
  core::Table table{{{"bucket", Align::kRight},
                     {"buckets", Align::kRight},
                     {"one bucket", Align::kRight},
                     {"all", Align::kRight},
                     {"exposed", Align::kRight}},
                    {}};
  json = Json::array();
  for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0, 8.0}) {
    const auto ledger = price(flags, rule, factor);
    if (!ledger) continue;
    table.rows.push_back(
        {core::format_number(ledger->rule.cap.count() / 1048576) + " MiB",
         std::to_string(ledger->count),
         fills_a_bucket(*ledger) ? format_duration(ledger->full.time()) : "never full",
         format_duration(ledger->total),
         ledger->overlap ? format_duration(ledger->overlap->exposed) : "-"});
    json.push_back(
        {{"bucket_bytes", core::json_bytes(ledger->rule.cap)},
         {"buckets", ledger->count},
         {"time_us", json_number(ledger->total.in_us())},
         {"exposed_us", ledger->overlap ? json_number(ledger->overlap->exposed.in_us()) : Json()}});
  }
  return table;
}

std::string sentence(const BucketLedger& ledger, int ranks) {
  const std::string what =
      fmt::format("{} of gradients on {} rank{}: {} bucket{}", format_bytes(ledger.rule.gradients),
                  ranks, ranks == 1 ? "" : "s", ledger.count, ledger.count == 1 ? "" : "s");
  if (is_free(ledger)) return what + ", free, nothing has to move";
  return fmt::format(
      "{}, {}{}", what, format_duration(ledger.total),
      ledger.overlap ? fmt::format(", {} of it exposed", format_duration(ledger.overlap->exposed))
                     : "");
}

int calc_bucket(const Shell& shell, const BucketFlags& flags) {
  const auto rule = rule_of(flags);
  if (!rule) return shell.fail(rule.error());
  const auto ledger = price(flags, *rule, 1);
  if (!ledger) return shell.fail(ledger.error());
  Document document{.command = "calc"};
  document.result = bucket_json(*ledger);
  document.verdict = sentence(*ledger, flags.ranks);
  if (is_free(*ledger)) {
    document.result["other_sizes"] = Json::array();
    document.body = {summary(*ledger)};
    return shell.finish(document);
  }
  core::Table table = alternatives(flags, *rule, document.result["other_sizes"]);
  document.body = {summary(*ledger), core::Heading{"Other bucket sizes"}, std::move(table)};
  document.details = ledger_details(ledger->full);
  return shell.finish(document);
}

}  // namespace

void add_calc_bucket(CLI::App& calc, Shell& shell) {
  CLI::App* app = calc.add_subcommand("bucket", "DDP gradient buckets: time, overlap, merging");
  auto flags = std::make_shared<BucketFlags>();
  app->add_option("--params", flags->params, "number of parameters: 7e9, 125M, 7B")
      ->required()
      ->type_name("N");
  app->add_option("--dtype", flags->dtype,
                  "data type of the gradients: fp32, bf16, fp16, fp8, fp64")
      ->capture_default_str()
      ->type_name("D");
  app->add_option("-n,--ranks", flags->ranks, "number of ranks")->required()->type_name("RANKS");
  add_bandwidth(*app, "--beta", flags->beta, "bandwidth of a link, one direction")->required();
  add_duration(*app, "--alpha", flags->alpha, "fixed cost of one step")->required();
  app->add_option("--bucket-mb", flags->bucket_mb, "bucket_cap_mb of DDP, in MiB")
      ->capture_default_str()
      ->type_name("MIB");
  flags->backward_option = add_duration(*app, "--backward", flags->backward,
                                        "time of the backward pass, for the overlap");
  app->footer(
      "Example:\n  comm-probe calc bucket --params 7e9 --dtype bf16 -n 64 --beta 45GB/s "
      "--alpha 10us --backward 900ms");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, flags] { shell.run([&shell, flags] { return calc_bucket(shell, *flags); }); });
}

}  // namespace comm_probe::cli
