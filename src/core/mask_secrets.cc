// Secrets in texts: values of names that say so, keys with a well-known beginning, what stands in
// URLs, serial numbers; and values that stand in another key than their names.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "core/mask.h"
#include "core/mask_words.h"

namespace comm_probe::core {
namespace {

using Span = std::pair<std::size_t, std::size_t>;  // from, to

constexpr std::array<std::string_view, 23> kKeyBeginnings = {
    "hf_",    "sk-",   "ghp_",  "gho_",  "ghs_", "ghu_", "ghr_",    "github_pat_",
    "glpat-", "xoxb-", "xoxp-", "xapp-", "AKIA", "ASIA", "eyJ",     "nvapi-",
    "AIza",   "ya29.", "npm_",  "pypi-", "hvs.", "dapi", "sk_live_"};

// A name that holds one of them is of a secret.
constexpr std::array<std::string_view, 24> kSecretWords = {
    "PASSPHRASE",        "SECRET",        "PASSWORD",       "PASSWD",       "PASSCODE",
    "API_KEY",           "APIKEY",        "ACCESS_KEY",     "ACCESSKEY",    "PRIVATE_KEY",
    "PRIVATEKEY",        "CREDENTIAL",    "AUTHORIZATION",  "WEBHOOK",      "SIGNING_KEY",
    "ENCRYPTION_KEY",    "ACCOUNT_KEY",   "ACCOUNTKEY",     "LICENSE_KEY",  "CLIENT_KEY",
    "CONNECTION_STRING", "SERIAL_NUMBER", "SECURITY_TOKEN", "AMZ_SIGNATURE"};

bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_quote(char c) { return c == '"' || c == '\''; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_key_char(char c) {
  return is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == '+' || c == '=';
}
bool is_long_name_char(char c) { return is_name_char(c) || c == '.'; }

std::string upper_of(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

std::string_view run_of(std::string_view text, bool (*is_in)(char)) {
  std::size_t end = 0;
  while (end < text.size() && is_in(text[end])) ++end;
  return text.substr(0, end);
}

bool is_upper_case(std::string_view name) {
  return std::none_of(name.begin(), name.end(),
                      [](unsigned char c) { return std::islower(c) != 0; });
}

// Short words count as the last piece of a name alone, and PASS is of a test or of a layer too:
// "DB_PASS" and "--db-pass" are, "PASS" and "forward_pass" are none.
bool ends_on_short_word(std::string_view name, std::string_view upper) {
  const std::size_t last = upper.rfind('_');
  const std::string_view piece = last == upper.npos ? upper : upper.substr(last + 1);
  const std::string_view before = last == upper.npos ? std::string_view() : upper.substr(0, last);
  if (piece == "AUTH" || piece == "PSK" || piece == "COOKIE") return true;
  if (upper.ends_with("_AUTH_CONFIG") || upper.ends_with("_AUTH_STRING")) return true;
  if (piece != "PASS" && piece != "PAT" && piece != "PWD") return false;
  constexpr std::array<std::string_view, 10> kNoOwners = {
      "FORWARD", "BACKWARD", "FWD", "BWD", "FIRST", "SECOND", "ONE", "TWO", "BY", "OLD"};
  const std::string_view owner = before.substr(before.rfind('_') + 1);
  if (owner.empty() || std::find(kNoOwners.begin(), kNoOwners.end(), owner) != kNoOwners.end())
    return before.empty() ? false : owner.empty() && name.starts_with('-') && piece == "PASS";
  constexpr std::array<std::string_view, 14> kOwners = {
      "DB",   "USER",  "MYSQL", "PG",    "POSTGRES", "REDIS", "SMTP",
      "ROOT", "ADMIN", "SSH",   "PROXY", "LDAP",     "GIT",   "GITHUB"};
  return is_upper_case(name) || std::find(kOwners.begin(), kOwners.end(), owner) != kOwners.end();
}

struct Word {
  std::size_t from, to;
};

// Where the value of a name begins, behind what closes the name and a sign; npos: there is none.
std::size_t behind_sign(std::string_view line, std::size_t at) {
  const auto skip = [&](std::string_view what) {
    while (at < line.size() && what.find(line[at]) != what.npos) ++at;
  };
  skip("\\\"'])");
  skip(" \t");
  if (at >= line.size()) return line.npos;
  if (line.substr(at).starts_with(":=") || line.substr(at).starts_with("=>")) ++at;
  if (line[at] != '=' && line[at] != ':' && line[at] != '>') return line.npos;
  if (line[at] == ':' && at + 1 < line.size() && line[at + 1] == ':') return line.npos;  // C++
  ++at;
  skip(" \t\\");
  return at < line.size() ? at : line.npos;
}

// "--auth_token xyz": a blank between the option and its value.
std::size_t behind_option(std::string_view line, const Word& name) {
  if (line[name.from] != '-' || name.to >= line.size()) return line.npos;
  if (name.from > 0 && !is_blank(line[name.from - 1]) && !is_quote(line[name.from - 1]))
    return line.npos;
  std::size_t at = name.to;
  while (at < line.size() && (is_quote(line[at]) || line[at] == ',')) ++at;  // "--token", "x"
  if (at < line.size() && !is_blank(line[at])) return line.npos;
  at = line.find_first_not_of(" \t", at);
  return at == line.npos || line[at] == '-' ? line.npos : at;
}

// "setenv NAME VALUE" of csh and Lmod, "ENV NAME VALUE" of Docker; ("NAME", "VALUE") of a list.
std::size_t behind_blank(std::string_view line, const Word& name) {
  const bool is_listed = name.to + 1 < line.size() && is_quote(line[name.to]) && name.from > 0 &&
                         line[name.from - 1] == line[name.to];
  if (is_listed) {
    std::size_t at = line.find_first_not_of(" \t", name.to + 1);
    if (at == line.npos || line[at] != ',') return line.npos;
    at = line.find_first_not_of(" \t", at + 1);
    return at != line.npos && is_quote(line[at]) ? at : line.npos;
  }
  const std::string_view before = line.substr(0, name.from);
  for (const std::string_view command : {"setenv ", "ENV ", "set -x ", "set -gx ", "set -Ux "})
    if (before.ends_with(command)) return line.find_first_not_of(" \t", name.to);
  return line.npos;
}

// The end of a quoted value is its quote; in a text of JSON within JSON one with a backslash.
std::size_t end_of_quoted(std::string_view line, std::size_t quote) {
  const bool is_escaped = quote > 0 && line[quote - 1] == '\\';
  for (std::size_t at = quote + 1; at < line.size(); ++at) {
    if (line[at] == '\\' && at + 1 < line.size() && !is_escaped) {
      ++at;
      continue;
    }
    if (line[at] != line[quote]) continue;
    const bool is_doubled = !is_escaped && at + 1 < line.size() && line[at + 1] == line[quote];
    if (!is_doubled) return is_escaped && line[at - 1] == '\\' ? at - 1 : at;
    ++at;  // 'it''s', as YAML and the shell have it
  }
  return line.size();
}

// Is the name the first word of its line, so that the rest of the line is the value?
bool begins_line(std::string_view line, std::size_t name) {
  return line.substr(0, name).find_first_not_of(" \t-") == line.npos;
}

// "NAME=a'b c'": a quote inside a value of the shell holds blanks too.
std::size_t end_of_plain(std::string_view line, std::size_t from) {
  std::size_t at = from;
  while (at < line.size() && std::string_view(" \t,;").find(line[at]) == line.npos) {
    if (is_quote(line[at])) {
      const std::size_t close = line.find(line[at], at + 1);
      if (at == from || close == line.npos || line[at - 1] == '}') return at;
      at = close;
    }
    ++at;
  }
  return at;
}

bool says_nothing(std::string_view value) {
  constexpr std::array<std::string_view, 7> kNothing = {"null", "true",  "false", "none",
                                                        "None", "False", "True"};
  return std::find(kNothing.begin(), kNothing.end(), value) != kNothing.end();
}

// The value that begins at `from`, whose name is `name`; empty where there is none to hide.
Span value_at(std::string_view line, const Word& name, std::size_t from) {
  if (is_quote(line[from])) return {from + 1, end_of_quoted(line, from)};
  const bool is_direct = line[from - 1] == '=';
  const bool is_open = line[from] == '{' || line[from] == '[';
  if (is_open && !is_direct) return {from, from};  // its names are judged on their own
  const std::string upper = upper_of(line.substr(name.from, name.to - name.from));
  const bool is_rest = is_open || upper.ends_with("AUTHORIZATION") || upper.ends_with("COOKIE") ||
                       upper.find("CONNECTION") != upper.npos;
  const bool is_quoted_name = name.to < line.size() && is_quote(line[name.to]);
  if (is_rest)
    return {from, is_open ? line.size() : std::min(line.find_first_of("\"'", from), line.size())};
  if (says_nothing(line.substr(from))) return {from, from};
  if (!is_direct && !is_quoted_name && begins_line(line, name.from) && line[name.from] != '-')
    return {from, line.size()};
  const std::size_t to = end_of_plain(line, from);
  if (says_nothing(line.substr(from, to - from))) return {from, from};
  return {from, to};
}

void add_value(std::string_view line, const Word& name, std::size_t from,
               std::vector<Span>& spans) {
  if (from == line.npos || from >= line.size()) return;
  const Span value = value_at(line, name, from);
  if (value.second > value.first) spans.push_back(value);
}

// "NAME=VALUE", "NAME: VALUE", "--NAME VALUE", ("NAME", "VALUE"), "setenv NAME VALUE".
void add_named_values(std::string_view line, std::vector<Span>& spans) {
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view run = run_of(line.substr(at), is_long_name_char);
    if (run.empty()) {
      ++at;
      continue;
    }
    const Word name = {at, at + run.size()};
    at = name.to;
    std::size_t from = behind_sign(line, name.to);
    if (from == line.npos) from = behind_option(line, name);
    if (from == line.npos) from = behind_blank(line, name);
    if (from != line.npos && is_secret_name(run)) add_value(line, name, from, spans);
  }
}

// "the password is not shown", "password is required": no value.
bool is_said_of_passwords(std::string_view word) {
  constexpr std::array<std::string_view, 26> kWords = {
      "not",     "required", "wrong",   "incorrect", "invalid", "missing", "empty",
      "set",     "unset",    "expired", "needed",    "hidden",  "too",     "no",
      "in",      "the",      "a",       "stored",    "correct", "weak",    "disabled",
      "unknown", "used",     "asked",   "ok",        "read"};
  word = word.substr(0, word.find_first_of(".,;:)"));
  return word.empty() || std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// "the password is hunter2": a value, which "is not shown" is none; "password hunter2" of netrc.
void add_said_passwords(std::string_view line, std::vector<Span>& spans) {
  const std::string upper = upper_of(line);
  for (const std::string_view word : {"PASSWORD ", "PASSWD ", "PASSPHRASE ", "PASSCODE "})
    for (std::size_t at = upper.find(word); at != upper.npos; at = upper.find(word, at + 1)) {
      std::size_t from = at + word.size();
      const bool is_said = upper.compare(from, 3, "IS ") == 0;
      if (is_said) from += 3;
      const std::string_view value =
          line.substr(from, std::min(line.find_first_of(" \t", from), line.size()) - from);
      const bool is_netrc =
          begins_line(line, at) ? from + value.size() == line.size() : upper.find("LOGIN ") < at;
      if ((is_said && !is_said_of_passwords(value)) || (!is_said && is_netrc && !value.empty()))
        spans.emplace_back(from, from + value.size());
    }
}

// "Serial Number : 1234", "api key: ...": names with a blank; the rest of the line.
void add_spaced_names(std::string_view line, std::vector<Span>& spans) {
  const std::string upper = upper_of(line);
  for (const std::string_view word : {"SERIAL NUMBER", "API KEY", "ACCESS KEY", "PRIVATE KEY"})
    for (std::size_t at = upper.find(word); at != upper.npos; at = upper.find(word, at + 1)) {
      const std::size_t from = behind_sign(line, at + word.size());
      if (from == line.npos) continue;
      if (is_quote(line[from]))
        spans.emplace_back(from + 1, end_of_quoted(line, from));
      else
        spans.emplace_back(from, std::min(line.find_first_of("\"'", from), line.size()));
    }
}

void add_known_keys(std::string_view line, std::vector<Span>& spans) {
  constexpr std::size_t kShortest = 20;
  for (const std::string_view beginning : kKeyBeginnings)
    for (std::size_t at = line.find(beginning); at != line.npos;
         at = line.find(beginning, at + 1)) {
      if (at > 0 && is_name_char(line[at - 1])) continue;
      const std::string_view key = run_of(line.substr(at), is_key_char);
      if (key.size() >= kShortest) spans.emplace_back(at, at + key.size());
    }
  const std::string upper = upper_of(line);
  for (const std::string_view scheme : {"BEARER ", "BASIC "})
    if (const std::size_t at = upper.find(scheme); at != upper.npos) {
      const std::size_t from = at + scheme.size();
      const std::string_view key = run_of(line.substr(from), is_key_char);
      if (scheme == "BEARER " || key.size() >= kShortest)
        spans.emplace_back(from, from + key.size());
    }
}

// "--wandb-key=0123...", "api key 0123...", "wandb login 0123...": what is named a key and looks
// like one (32 hexadecimal digits or more).
void add_hexadecimal_keys(std::string_view line, std::vector<Span>& spans) {
  constexpr std::size_t kShortest = 32;
  const std::string upper = upper_of(line);
  for (const std::string_view word : {"KEY", "LOGIN"})
    for (std::size_t at = upper.find(word); at != upper.npos; at = upper.find(word, at + 1)) {
      const std::size_t from = upper.find_first_not_of(" =:\"'", at + word.size());
      if (from == upper.npos || from == at + word.size()) continue;
      std::size_t to = from;
      while (to < line.size() && std::isxdigit(static_cast<unsigned char>(line[to])) != 0) ++to;
      const bool is_whole = to == line.size() || !is_name_char(line[to]);
      if (to - from >= kShortest && is_whole) spans.emplace_back(from, to);
    }
}

// "scheme://user:password@host", "https://key@host": the password, or a user that looks like a key.
void add_user_of_url(std::string_view line, std::size_t at, std::size_t end,
                     std::vector<Span>& spans) {
  constexpr std::size_t kShortest = 20;
  const std::size_t stop = std::min(line.find('/', at), end);
  const std::size_t sign = line.substr(0, stop).rfind('@');
  if (sign == line.npos || sign < at) return;
  const std::size_t colon = line.find(':', at);
  if (colon < sign)
    spans.emplace_back(colon + 1, sign);
  else if (sign - at >= kShortest)
    spans.emplace_back(at, sign);
}

// Paths of web hooks are their secrets; so are signatures and codes behind "?".
void add_urls(std::string_view line, std::vector<Span>& spans) {
  for (std::size_t at = line.find("://"); at != line.npos; at = line.find("://", at + 3)) {
    const std::size_t end = std::min(line.find_first_of(" \t\"'<>", at), line.size());
    add_user_of_url(line, at + 3, end, spans);
    const std::string_view url = line.substr(at + 3, end - at - 3);
    const std::size_t path = line.find('/', at + 3);
    const bool is_hook = url.starts_with("hooks.") || url.find("/webhook") != url.npos ||
                         url.find(".webhook.") != url.npos;
    if (is_hook && path < end) spans.emplace_back(path + 1, end);
  }
  const std::string upper = upper_of(line);
  for (const std::string_view name : {"SIG=", "SIGNATURE=", "X-AMZ-SIGNATURE=", "X-GOOG-SIGNATURE=",
                                      "KEY=", "CODE=", "AWSACCESSKEYID="})
    for (std::size_t at = upper.find(name); at != upper.npos; at = upper.find(name, at + 1)) {
      const bool is_query = at > 0 && (line[at - 1] == '?' || line[at - 1] == '&');
      const std::size_t from = at + name.size();
      if (is_query || name.starts_with("X-"))
        spans.emplace_back(from, std::min(line.find_first_of(" \t\"'&", from), line.size()));
    }
}

// "curl -u bob:pw", "docker login -u bob -p pw", "sshpass -p pw ssh x", "sshpass -ppw", "mysql
// -ppw".
void add_logins(std::string_view line, std::vector<Span>& spans) {
  const bool is_login = line.find(" login ") != line.npos;
  const bool is_curl = line.find("curl ") != line.npos;
  const bool has_pass = is_login || line.find("sshpass ") != line.npos;
  for (const std::string_view option : {" -p ", " -u ", " --user "})
    for (std::size_t at = line.find(option); at != line.npos; at = line.find(option, at + 1)) {
      const std::size_t from = at + option.size();
      const bool is_quoted = from < line.size() && is_quote(line[from]);
      const std::size_t to = is_quoted ? end_of_quoted(line, from)
                                       : std::min(line.find_first_of(" \t", from), line.size());
      const std::size_t colon = line.find(':', from);
      if (has_pass && option == " -p ") spans.emplace_back(from + (is_quoted ? 1 : 0), to);
      if (is_curl && option != " -p " && colon < to) spans.emplace_back(colon + 1, to);
    }
  for (const std::string_view command : {"sshpass ", "mysql ", "mysqldump "}) {
    const std::size_t name = line.find(command);
    const std::size_t at = name == line.npos ? name : line.find(" -p", name);
    if (at == line.npos || at + 3 >= line.size() || is_blank(line[at + 3])) continue;
    spans.emplace_back(at + 3, std::min(line.find_first_of(" \t", at + 3), line.size()));
  }
}

// Spans that touch are one; from the last to the first, so that places stay right.
std::string without(std::string_view text, std::vector<Span> spans) {
  std::erase_if(spans, [](const Span& span) { return span.first >= span.second; });
  std::sort(spans.begin(), spans.end());
  std::string out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < spans.size();) {
    Span whole = spans[i];
    while (++i < spans.size() && spans[i].first < whole.second)
      whole.second = std::max(whole.second, spans[i].second);
    out += text.substr(at, whole.first - at);
    out += kSecretMask;
    at = whole.second;
  }
  return out += text.substr(at);
}

// "OPENAI_KEY" is a secret, "SORT_KEY" a column.
bool is_key_of_data(std::string_view upper) {
  constexpr std::array<std::string_view, 10> kOfData = {
      "SORT_KEY",  "CACHE_KEY", "PRIMARY_KEY", "FOREIGN_KEY", "PARTITION_KEY",
      "GROUP_KEY", "DICT_KEY",  "BATCH_KEY",   "CONFIG_KEY",  "PUBLIC_KEY"};
  return std::any_of(kOfData.begin(), kOfData.end(),
                     [&](std::string_view name) { return upper.ends_with(name); });
}

}  // namespace

bool is_secret_name(std::string_view name) {
  std::string upper = upper_of(name);
  std::replace(upper.begin(), upper.end(), '-', '_');
  std::replace(upper.begin(), upper.end(), '.', '_');
  if (upper.ends_with("NAME") || upper.ends_with("REF"))
    return false;                             // "secretName", "secretKeyRef"
  if (upper.ends_with("TOKEN")) return true;  // "max_tokens" and "TOKENIZERS_PARALLELISM" are none
  if (upper.ends_with("_KEY") && is_upper_case(name)) return !is_key_of_data(upper);
  return std::any_of(kSecretWords.begin(), kSecretWords.end(),
                     [&](std::string_view word) { return upper.find(word) != upper.npos; }) ||
         ends_on_short_word(name, upper);
}

std::string without_secrets(std::string_view line) {
  std::vector<Span> spans;
  add_named_values(line, spans);
  add_said_passwords(line, spans);
  add_spaced_names(line, spans);
  add_known_keys(line, spans);
  add_hexadecimal_keys(line, spans);
  add_urls(line, spans);
  add_logins(line, spans);
  return without(line, std::move(spans));
}

}  // namespace comm_probe::core
