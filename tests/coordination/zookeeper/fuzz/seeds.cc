// Writes one good input of each kind: what libFuzzer's mutations begin with.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "coordination/zookeeper/messages.h"
#include "tests/coordination/zookeeper/fuzz/sample.h"

namespace nodepool::coordination::zookeeper {
namespace {

void write(const std::filesystem::path& directory, Sample sample, const std::string& bytes) {
  const auto number = static_cast<unsigned char>(sample);
  std::ofstream file(directory / ("seed-" + std::to_string(number)), std::ios::binary);
  file.put(static_cast<char>(number)) << bytes;
  if (!file.flush()) throw std::runtime_error("cannot write to " + directory.string());
}

std::string body(Writer&& writer) {
  return std::move(writer).finish().substr(sizeof(std::int32_t));
}

Writer& add_stat(Writer& writer) {
  for (int i = 0; i < 4; ++i) writer.long_integer(i);
  for (int i = 0; i < 3; ++i) writer.integer(i);
  return writer.long_integer(4).integer(5).integer(6).long_integer(7);
}

void write_all(const std::filesystem::path& directory) {
  Writer connect;
  connect.integer(0).integer(10'000).long_integer(1).string("password").boolean(false);
  write(directory, Sample::connect_reply, body(std::move(connect)));
  Writer stat;
  add_stat(stat.integer(1).long_integer(2).integer(0));
  write(directory, Sample::stat, body(std::move(stat)));
  Writer created;
  add_stat(created.string("/chroot/a"));
  write(directory, Sample::created, body(std::move(created)));
  Writer entry;
  add_stat(entry.string("data"));
  write(directory, Sample::entry, body(std::move(entry)));
  Writer children;
  children.integer(2).string("a").string("b");
  write(directory, Sample::children, body(std::move(children)));
  Writer event;
  event.integer(3).integer(3).string("/chroot/a");
  write(directory, Sample::watch_event, body(std::move(event)));
  Writer multi;
  multi.integer(13).boolean(false).integer(-1);
  multi.integer(1).boolean(false).integer(-1).string("/chroot/b");
  add_stat(multi.integer(5).boolean(false).integer(-1));
  multi.integer(2).boolean(false).integer(-1);
  multi.integer(-1).boolean(true).integer(-1);
  write(directory, Sample::multi, body(std::move(multi)));
  write(directory, Sample::stream, '\3' + close_request() + get_request("/a") + ping_request());
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::cerr << "usage: fuzz_zookeeper_seeds DIRECTORY\n";
    return 2;
  }
  const std::filesystem::path directory(arguments[1]);
  std::filesystem::create_directories(directory);
  nodepool::coordination::zookeeper::write_all(directory);
}
