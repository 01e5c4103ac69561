// Masker: takes names and addresses out of texts so that they can be given away, and keeps what an
// analysis needs: the same name is the same mask in every text and, under the same key, on every
// machine, so that files of several nodes still join. Masks are keyed hashes (keyed_hash.h); with a
// key that nobody else has, not even a guessed name can be checked.
//
//   host names, user names   learnt from the texts (prompts, NCCL's line heads, paths below /home,
//                            node lists of schedulers) and told; node07 -> h and five digits to
//                            base 36: as long as the name, which binary files need, or five
//                            characters where it is shorter; ranges become the masks of their
//                            names; beside gpu-a01 any gpu-a and two digits is a host
//   domains                  learnt from full host names, addresses of mail and web, resolv.conf
//
//   IPv4                     10.N.N.H: hosts of one /24 stay in one /24; GIDs that hold one follow,
//                            and names of hosts that are one (ip-10-20-30-40)
//   IPv6, GUID, MAC, UUID    hashed; fe80::/64 stays link-local
//   serial numbers, secrets  gone
//
//   "node07 10.20.30.40" -> "hxxxxx 10.N.N.H", in every file of every node
//
// Kept: addresses of no machine (loopback, zero, netmasks), PCI bus ids, versions.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/keyed_hash.h"

namespace comm_probe::core {

class Masker {
 public:
  // The same word on all machines gives the same masks on them.
  explicit Masker(std::string_view key = "") : key_(key_of(key)) {}

  // Names to be masked wherever they stand as a whole word; a host "node07.site.org" is its short
  // name and a domain. Names of every machine ("localhost", "root", ...) are left alone.
  void know_host(std::string_view name);
  void know_user(std::string_view name);
  // Names of hosts, users and domains that a text shows. What follows a host's name that another
  // text tells is known as a domain by the second time.
  void learn(std::string_view text);

  std::string masked_text(std::string_view text);
  // Of a path every piece that is a name: "run/alice_node07.log" -> "run/u0001_h00001.log".
  std::string masked_path(std::string_view path);
  // Names and secrets only, by as many bytes: counts and offsets of binary formats stay right.
  std::string masked_binary(std::string_view bytes);

 private:
  std::string masked_line(std::string_view line);
  void know_domain(std::string_view name);
  void learn_domains_of_hosts(std::string_view line);
  std::string masked_ranges(std::string_view line);
  std::string masked_word_names(std::string_view line);
  // The mask of a known name, in any case where it has digits; nothing where it is unknown.
  const std::string* mask_of_name(std::string_view name) const;
  // A name with the letters of a known host and as many digits; 0 where none begins here.
  std::size_t host_of_shape_at(std::string_view line, std::size_t at);
  // The known name that begins here and ends where a word may end; 0 where there is none.
  std::size_t known_name_at(std::string_view line, std::size_t at) const;
  std::string masked_serials(std::string line) const;
  std::string masked_mail(std::string_view line);
  std::string masked_address_names(std::string_view line);
  std::string masked_addresses(std::string_view line);
  void know(std::string_view name, char kind);
  std::string new_mask(std::string_view name, char kind);

  std::string mask_of_ipv4(std::uint32_t address);
  std::uint32_t masked_ipv4(std::uint32_t address);
  std::uint64_t masked_interface_id(std::uint64_t id) const;
  std::string masked_mac(std::uint64_t id) const;
  std::size_t bare_hardware_id(std::string_view text, std::string& out) const;
  // One run of hexadecimal digits, colons and dots; nothing where it is no address.
  bool address_mask(std::string_view token, std::string& out);

  std::uint64_t hash(std::string_view what, std::uint64_t number) const;

  HashKey key_;
  std::map<std::string, std::string, std::less<>> names_ = {};
  std::set<std::string, std::less<>> shapes_ = {};        // of hosts: "gpu-a##"
  std::set<std::size_t> lengths_ = {};                    // of names_
  std::set<std::string> used_ = {};                       // masks of names_
  std::map<std::uint32_t, std::uint32_t> networks_ = {};  // /24 -> number
  std::set<std::uint32_t> used_networks_ = {};
  std::map<std::string, std::string, std::less<>> mail_ = {};  // what stands before "@"
  std::set<std::string, std::less<>> serials_ = {};
  bool in_private_key_ = false;
  bool is_path_ = false;  // names of letters alone count as pieces too
};

// A name whose value nobody else should see: "HF_TOKEN", "WANDB_API_KEY", "db_password".
bool is_secret_name(std::string_view name);
inline constexpr std::string_view kSecretMask = "<secret>";

}  // namespace comm_probe::core
