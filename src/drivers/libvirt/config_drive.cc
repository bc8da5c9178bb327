#include "drivers/libvirt/config_drive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include <nlohmann/json.hpp>

namespace nodepool::drivers::libvirt {

namespace {

// Sections and offsets are those of ECMA-119; all sizes are bytes.
constexpr std::size_t kSector = 2048;
constexpr std::size_t kSystemArea = 16;  // sectors
constexpr std::size_t kMaxName = 64;

enum class Names { plain, joliet };

// Where everything is, in sectors. Each path table and each directory has one sector.
enum Layout : std::uint32_t {
  plain_tables = kSystemArea + 3,  // little endian, then big endian
  joliet_tables = plain_tables + 2,
  plain_root = joliet_tables + 2,
  joliet_root,
  contents,
};

std::size_t sectors_of(std::size_t bytes) {
  return (bytes + kSector - 1) / kSector;
}

void append_little(std::string& out, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

void append_big(std::string& out, std::uint32_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
}

// 7.2.3, 7.3.3: a number in both byte orders.
void append_both(std::string& out, std::uint32_t value, int bytes) {
  append_little(out, value, bytes);
  append_big(out, value, bytes);
}

// ASCII as it is, or in Joliet's UCS-2.
std::string encoded(std::string_view text, Names names) {
  if (names == Names::plain) return std::string(text);
  std::string wide;
  for (const char letter : text) {
    wide.push_back('\0');
    wide.push_back(letter);
  }
  return wide;
}

// A plain name as Linux shows it in small letters: "META-DATA.;1" for meta-data.
std::string identifier(const std::string& name, Names names) {
  if (names == Names::joliet) return encoded(name, names);
  std::string large = name;
  std::ranges::transform(large, large.begin(), [](char letter) {
    return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  });
  return large + (name.find('.') == std::string::npos ? ".;1" : ";1");
}

// 9.1: an entry of a directory.
std::string directory_entry(const std::string& id, std::uint32_t sector, std::size_t size,
                            bool is_directory) {
  std::string entry(2, '\0');
  append_both(entry, sector, 4);
  append_both(entry, static_cast<std::uint32_t>(size), 4);
  entry += std::string("\x46\x01\x01\0\0\0\0", 7);  // 1970-01-01
  entry.push_back(is_directory ? '\x02' : '\0');
  entry.append(2, '\0');
  append_both(entry, 1, 2);
  entry.push_back(static_cast<char>(id.size()));
  entry += id;
  if (entry.size() % 2 != 0) entry.push_back('\0');
  entry[0] = static_cast<char>(entry.size());
  return entry;
}

std::uint32_t root_of(Names names) {
  return names == Names::plain ? plain_root : joliet_root;
}

// The entries are sorted, because `files` is and all names have the same kind of letters.
std::string root_directory(const std::map<std::string, std::string>& files, Names names) {
  std::string directory;
  for (const char self_or_parent : {'\0', '\x01'}) {
    directory += directory_entry(std::string(1, self_or_parent), root_of(names), kSector, true);
  }
  std::size_t sector = contents;
  for (const auto& [name, text] : files) {
    directory += directory_entry(identifier(name, names), static_cast<std::uint32_t>(sector),
                                 text.size(), false);
    sector += sectors_of(text.size());
  }
  if (directory.size() > kSector) throw std::length_error("too many files for a config drive");
  return directory;
}

// 9.4: the path table, which has only the root directory.
std::string path_table(std::uint32_t root, bool is_big) {
  std::string table("\x01\0", 2);
  const auto append = is_big ? append_big : append_little;
  append(table, root, 4);
  append(table, 1, 2);
  return table + std::string(2, '\0');
}

// 8.4, 8.5: a primary descriptor, or Joliet's supplementary one.
std::string descriptor(const std::string& label, std::size_t sectors, Names names) {
  constexpr std::size_t kPathTableSize = 10;
  const bool is_plain = names == Names::plain;
  const std::string blank = encoded(" ", names);
  const auto field = [&](std::string_view text, std::size_t size) {
    std::string filled = encoded(text, names);
    while (filled.size() + blank.size() <= size) filled += blank;
    return filled + std::string(size - filled.size(), '\0');
  };
  std::string out(1, is_plain ? '\x01' : '\x02');
  out += std::string("CD001\x01\0", 7);
  out += field("", 32) + field(label, 32) + std::string(8, '\0');
  append_both(out, static_cast<std::uint32_t>(sectors), 4);
  out += is_plain ? std::string(32, '\0') : "%/E" + std::string(29, '\0');  // UCS-2, level 3
  append_both(out, 1, 2);
  append_both(out, 1, 2);
  append_both(out, kSector, 2);
  append_both(out, kPathTableSize, 4);
  const std::uint32_t tables = is_plain ? plain_tables : joliet_tables;
  append_little(out, tables, 4);
  append_little(out, 0, 4);
  append_big(out, tables + 1, 4);
  append_big(out, 0, 4);
  out += directory_entry(std::string(1, '\0'), root_of(names), kSector, true);
  out += field("", 128) + field("", 128) + field("", 128) + field("", 128);
  out += field("", 37) + field("", 37) + field("", 37);
  const std::string no_time = std::string(16, '0') + std::string(1, '\0');
  out += no_time + no_time + no_time + no_time;
  return out + '\x01';
}

void append_sectors(std::string& image, const std::string& bytes) {
  image += bytes;
  image.resize(sectors_of(image.size()) * kSector, '\0');
}

}  // namespace

std::string iso_image(const std::string& label, const std::map<std::string, std::string>& files) {
  std::size_t sectors = contents;
  for (const auto& [name, text] : files) {
    if (name.size() > kMaxName) throw std::length_error("file name too long: " + name);
    sectors += sectors_of(text.size());
  }
  std::string image(kSystemArea * kSector, '\0');
  append_sectors(image, descriptor(label, sectors, Names::plain));
  append_sectors(image, descriptor(label, sectors, Names::joliet));
  append_sectors(image, std::string("\xff") + "CD001\x01");
  for (const std::uint32_t root : {plain_root, joliet_root}) {
    append_sectors(image, path_table(root, false));
    append_sectors(image, path_table(root, true));
  }
  append_sectors(image, root_directory(files, Names::plain));
  append_sectors(image, root_directory(files, Names::joliet));
  for (const auto& [name, text] : files) append_sectors(image, text);
  return image;
}

// JSON is YAML, and quotes whatever the names contain.
std::map<std::string, std::string> cloud_init_files(const CloudInit& settings) {
  using Json = nlohmann::json;
  const Json meta = {{"instance-id", settings.instance_id},
                     {"local-hostname", settings.hostname},
                     {"public-keys", settings.keys}};
  std::map<std::string, std::string> files = {{"meta-data", meta.dump(1) + "\n"},
                                              {"user-data", settings.user_data}};
  std::string users = "#cloud-config\n";
  if (!settings.username.empty() && !settings.keys.empty()) {
    users += fmt::format(
        "users:\n"
        "- name: {}\n"
        "  shell: /bin/bash\n"
        "  sudo: ALL=(ALL) NOPASSWD:ALL\n"
        "  ssh_authorized_keys: {}\n",
        settings.username, Json(settings.keys).dump());
  }
  files[settings.user_data.empty() ? "user-data" : "vendor-data"] = users;
  return files;
}

}  // namespace nodepool::drivers::libvirt
