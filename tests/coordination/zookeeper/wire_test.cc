// The bytes of the protocol, without a server.
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "coordination/zookeeper/errors.h"
#include "coordination/zookeeper/frame_buffer.h"
#include "coordination/zookeeper/messages.h"
#include "coordination/zookeeper/multi.h"

namespace nodepool::coordination::zookeeper {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = StoreError::Kind;

// The response to a message, without its length.
std::string body(Writer&& writer) {
  return std::move(writer).finish().substr(sizeof(std::int32_t));
}

Writer& write_stat(Writer& writer) {
  return writer.long_integer(11)
      .long_integer(12)
      .long_integer(13)
      .long_integer(14)
      .integer(1)
      .integer(2)
      .integer(3)
      .long_integer(15)
      .integer(4)
      .integer(5)
      .long_integer(16);
}

const Stat kStat{.czxid = 11,
                 .mzxid = 12,
                 .ctime = 13,
                 .mtime = 14,
                 .version = 1,
                 .ephemeral_owner = 15,
                 .data_length = 4,
                 .num_children = 5};

TEST(ZooKeeperWire, numbers_are_big_endian) {
  Writer writer;
  writer.integer(-2).long_integer(0x0102030405060708).boolean(true).string("ab");
  EXPECT_EQ(std::move(writer).finish(), "\0\0\0\x13\xff\xff\xff\xfe\1\2\3\4\5\6\7\b\1\0\0\0\2ab"s);
}

TEST(ZooKeeperWire, what_is_written_is_read) {
  Writer writer;
  writer.integer(-1).long_integer(-2).boolean(false).string("").string("\0x"s);
  const std::string bytes = body(std::move(writer));
  Reader reader(bytes);
  EXPECT_EQ(reader.integer(), -1);
  EXPECT_EQ(reader.long_integer(), -2);
  EXPECT_FALSE(reader.boolean());
  EXPECT_EQ(reader.string(), "");
  EXPECT_EQ(reader.string(), "\0x"s);
  EXPECT_TRUE(reader.at_end());
  EXPECT_THROW(reader.boolean(), MalformedMessage);
}

TEST(ZooKeeperWire, null_is_empty) {
  EXPECT_EQ(Reader("\xff\xff\xff\xff"s).string(), "");
  EXPECT_THAT(Reader("\xff\xff\xff\xff"s).strings(), IsEmpty());
}

TEST(ZooKeeperWire, false_lengths_are_refused) {
  EXPECT_THROW(Reader("\xff\xff\xff\xfe"s).string(), MalformedMessage);
  EXPECT_THROW(Reader("\x7f\xff\xff\xffx"s).string(), MalformedMessage);
  EXPECT_THROW(Reader("\xff\xff\xff\xfe"s).strings(), MalformedMessage);
  EXPECT_THROW(Reader("\x7f\xff\xff\xff"s).strings(), MalformedMessage);
  EXPECT_THROW(Reader("\0\0\0\2\0\0\0\0"s).strings(), MalformedMessage);
}

TEST(ZooKeeperWire, requests_have_a_length_an_xid_and_a_type) {
  std::string request = exists_request("/a");
  set_xid(request, 7);
  EXPECT_EQ(request, "\0\0\0\x0f\0\0\0\7\0\0\0\3\0\0\0\2/a\0"s);
  request = create_request("/a", "d", CreateMode::ephemeral_sequential, Acl());
  EXPECT_EQ(request,
            "\0\0\0\x32\0\0\0\0\0\0\0\x0f\0\0\0\2/a\0\0\0\1d\0\0\0\1\0\0\0\x1f\0\0\0\5world"
            "\0\0\0\6anyone\0\0\0\3"s);
  EXPECT_EQ(close_request(), "\0\0\0\b\0\0\0\0\xff\xff\xff\xf5"s);
}

TEST(ZooKeeperWire, a_session_is_asked_for_and_granted) {
  const std::string request = connect_request({5, "password"}, 6, 7);
  EXPECT_EQ(request,
            "\0\0\0\x25\0\0\0\0\0\0\0\0\0\0\0\6\0\0\0\7\0\0\0\0\0\0\0\5\0\0\0\bpassword\0"s);
  const std::string answer = "\0\0\0\0\0\0\x27\x10\0\0\0\0\0\0\0\t\0\0\0\2pw\0"s;
  const ConnectReply reply = read_connect_reply(Reader(answer));
  EXPECT_EQ(reply.timeout_ms, 10'000);
  EXPECT_EQ(reply.credentials.session_id, 9);
  EXPECT_EQ(reply.credentials.password, "pw");
}

TEST(ZooKeeperWire, stats_are_read_field_by_field) {
  Writer writer;
  write_stat(writer.string("data"));
  const std::string bytes = body(std::move(writer));
  Reader reader(bytes);
  const Entry entry = read_entry(reader);
  EXPECT_EQ(entry.data, "data");
  EXPECT_EQ(entry.stat, kStat);
  EXPECT_TRUE(reader.at_end());
}

TEST(ZooKeeperWire, an_answer_that_ends_early_is_refused) {
  Writer writer;
  write_stat(writer.string("data"));
  const std::string bytes = body(std::move(writer));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Reader reader(std::string_view(bytes).substr(0, size));
    EXPECT_THROW(read_entry(reader), MalformedMessage) << size;
  }
}

TEST(ZooKeeperWire, events_of_interest_are_created_changed_and_removed) {
  const auto event = [](std::int32_t type) {
    Writer writer;
    writer.integer(type).integer(3).string("/a");
    const std::string bytes = body(std::move(writer));
    Reader reader(bytes);
    return read_watch_event(reader);
  };
  EXPECT_EQ(event(1)->kind, WatchEvent::Kind::created);
  EXPECT_EQ(event(2)->kind, WatchEvent::Kind::removed);
  EXPECT_EQ(event(3)->kind, WatchEvent::Kind::changed);
  EXPECT_EQ(event(3)->path, "/a");
  for (const std::int32_t other : {-1, 0, 4, 5, 6, 7, 99}) EXPECT_EQ(event(other), std::nullopt);
}

class ZooKeeperMulti : public testing::Test {
 protected:
  ZooKeeperMulti() {
    transaction_.check("/a", 1)
        .create("/b", "data", CreateMode::ephemeral)
        .set("/c", "")
        .remove("/d");
  }

  static Writer& header(Writer& writer, std::int32_t type, bool done = false) {
    return writer.integer(type).boolean(done).integer(-1);
  }

  std::vector<OperationResult> read(Writer&& writer) const {
    const std::string bytes = body(std::move(writer));
    Reader reader(bytes);
    return read_multi(reader, transaction_, paths_, {.zxid = 12, .session_id = 21, .now = 22});
  }

  Transaction transaction_;
  Paths paths_{"/chroot"};
};

TEST_F(ZooKeeperMulti, a_created_node_has_the_id_and_the_time_of_its_transaction) {
  Writer writer;
  header(writer, 13);
  header(writer, 1).string("/chroot/b");
  write_stat(header(writer, 5));
  header(writer, 2);
  header(writer, -1, true);
  const std::vector<OperationResult> results = read(std::move(writer));
  ASSERT_EQ(results.size(), 4);
  EXPECT_EQ(results[1].path, "/b");
  EXPECT_EQ(results[1].stat, (Stat{.czxid = 12,
                                   .mzxid = 12,
                                   .ctime = 14,
                                   .mtime = 14,
                                   .ephemeral_owner = 21,
                                   .data_length = 4}));
  EXPECT_EQ(results[2].stat, kStat);
}

TEST_F(ZooKeeperMulti, a_response_may_contain_the_stat_of_a_created_node) {
  Writer writer;
  header(writer, 13);
  write_stat(header(writer, 15).string("/chroot/b"));
  write_stat(header(writer, 5));
  header(writer, 2);
  header(writer, -1, true);
  EXPECT_EQ(read(std::move(writer))[1].stat, kStat);
}

TEST_F(ZooKeeperMulti, the_first_error_refuses_the_transaction) {
  Writer writer;
  for (const std::int32_t error : {0, -110, -2, -2}) header(writer, -1).integer(error);
  header(writer, -1, true);
  try {
    read(std::move(writer));
    ADD_FAILURE() << "not rejected";
  } catch (const TransactionError& error) {
    EXPECT_EQ(error.kind(), Kind::node_exists);
    EXPECT_EQ(error.index(), 1);
    EXPECT_THAT(error.what(), testing::HasSubstr("/b"));
  }
}

TEST_F(ZooKeeperMulti, an_answer_to_something_else_is_refused) {
  Writer too_short;
  header(too_short, 13);
  header(too_short, -1, true);
  EXPECT_THROW(read(std::move(too_short)), MalformedMessage);
  Writer wrong_type;
  write_stat(header(wrong_type, 5));
  EXPECT_THROW(read(std::move(wrong_type)), MalformedMessage);
  Writer refused_without_error;
  for (int i = 0; i < 4; ++i) header(refused_without_error, -1).integer(0);
  header(refused_without_error, -1, true);
  EXPECT_THROW(read(std::move(refused_without_error)), MalformedMessage);
}

TEST(ZooKeeperMultiRead, asks_for_what_each_request_asks_for) {
  const std::string get = get_request("/a");
  const std::string children = children_request("/b");
  EXPECT_TRUE(is_part_of_multi_read(get));
  EXPECT_TRUE(is_part_of_multi_read(children));
  EXPECT_FALSE(is_part_of_multi_read(exists_request("/a")));
  EXPECT_FALSE(is_part_of_multi_read(ping_request()));
  const std::vector<std::string_view> frames{get, children};
  EXPECT_EQ(multi_read_request(frames),
            "\0\0\0\x31\0\0\0\0\0\0\0\x16"
            "\0\0\0\4\0\xff\xff\xff\xff\0\0\0\2/a\0"
            "\0\0\0\b\0\xff\xff\xff\xff\0\0\0\2/b\0"
            "\xff\xff\xff\xff\1\xff\xff\xff\xff"s);
}

TEST(ZooKeeperMultiRead, an_answer_has_a_result_or_an_error_for_each) {
  Writer writer;
  write_stat(writer.integer(4).boolean(false).integer(0).string("data"));
  writer.integer(-1).boolean(false).integer(-101).integer(-101);
  writer.integer(-1).boolean(true).integer(-1);
  const std::string bytes = body(std::move(writer));
  Reader reader(bytes);
  EXPECT_EQ(read_error_of_part(reader), kOk);
  EXPECT_EQ(read_entry(reader).data, "data");
  EXPECT_EQ(read_error_of_part(reader), kNoNode);
  Reader early_end = reader;
  EXPECT_THROW(read_error_of_part(early_end), MalformedMessage);
  read_end_of_parts(reader);
  EXPECT_TRUE(reader.at_end());
}

TEST(ZooKeeperFrames, are_cut_wherever_reads_end) {
  std::string stream;
  for (const std::string_view text : {"one", "", "three"}) {
    Writer writer;
    for (const char c : text) writer.boolean(c != 0);
    stream += std::move(writer).finish();
  }
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    FrameBuffer buffer;
    std::vector<std::size_t> sizes;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      const std::string_view part = std::string_view(stream).substr(at, step);
      part.copy(buffer.space().data(), part.size());
      buffer.filled(part.size());
      while (const auto message = buffer.next()) sizes.push_back(message->size());
    }
    EXPECT_THAT(sizes, ElementsAre(3, 0, 5)) << step;
  }
}

TEST(ZooKeeperFrames, may_be_large) {
  Writer writer;
  writer.string(std::string(3'000'000, 'x'));
  const std::string frame = std::move(writer).finish() + close_request();
  FrameBuffer buffer;
  std::vector<std::size_t> sizes;
  for (std::size_t at = 0; at < frame.size();) {
    const std::span<char> space = buffer.space();
    const std::size_t size = frame.copy(space.data(), space.size(), at);
    buffer.filled(size);
    at += size;
    while (const auto message = buffer.next()) sizes.push_back(message->size());
  }
  EXPECT_THAT(sizes, ElementsAre(3'000'004, 8));
  EXPECT_LT(buffer.space().size(), 1'000'000);
}

TEST(ZooKeeperFrames, of_false_length_are_refused) {
  for (const std::string& length : {"\xff\xff\xff\xff"s, "\x04\0\0\1"s, "\x80\0\0\0"s}) {
    FrameBuffer buffer;
    length.copy(buffer.space().data(), length.size());
    buffer.filled(length.size());
    EXPECT_THROW(buffer.next(), MalformedMessage);
  }
}

// The example of ZooKeeper's administrator's guide.
TEST(ZooKeeperAcl, has_the_digest_of_user_and_password) {
  const Acl acl = acl_of({"super", "test"});
  EXPECT_EQ(acl.scheme, "digest");
  EXPECT_EQ(acl.id, "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
}

TEST(ZooKeeperErrors, have_the_kind_of_the_failure) {
  EXPECT_NO_THROW(require_ok(0, OpCode::get_data, "/a"));
  EXPECT_EQ(error_for(-101, OpCode::get_data, "/a").kind(), Kind::no_node);
  EXPECT_EQ(error_for(-112, OpCode::get_data, "/a").kind(), Kind::session_expired);
  EXPECT_EQ(error_for(-4, OpCode::set_data, "/a").kind(), Kind::unknown_outcome);
  EXPECT_EQ(error_for(-102, OpCode::create2, "/a").kind(), Kind::not_permitted);
}

TEST(ZooKeeperErrors, explain_a_rejection) {
  EXPECT_STREQ(
      error_for(-102, OpCode::create2, "/a").what(),
      "ZooKeeper refuses to create /a: an access control list does not permit it (NoAuth)");
  EXPECT_STREQ(error_for(-115, OpCode::get_children, "/a").what(),
               "ZooKeeper refuses to list the children of /a: the server does not accept the "
               "credentials (AuthFailed)");
  EXPECT_STREQ(error_for(-114, OpCode::create2, "/a").what(),
               "ZooKeeper refuses to create /a: the server does not accept the access control "
               "list (InvalidACL)");
  EXPECT_STREQ(error_for(-4, OpCode::set_data, "/a").what(),
               "connection lost, outcome unknown: /a (change: the server lost the ensemble's "
               "leader (ConnectionLoss))");
  EXPECT_STREQ(error_for(-250, OpCode::remove, "/a").what(),
               "ZooKeeper refuses to delete /a: error -250");
}

TEST(ZooKeeperPaths, are_below_the_chroot) {
  const Paths paths("/c");
  EXPECT_EQ(paths.to_server("/"), "/c");
  EXPECT_EQ(paths.to_server("/a"), "/c/a");
  EXPECT_EQ(paths.from_server("/c"), "/");
  EXPECT_EQ(paths.from_server("/c/a"), "/a");
  for (const std::string other : {"", "/", "/cc", "/d/a", "c"}) {
    EXPECT_THROW(paths.from_server(other), MalformedMessage) << other;
  }
  EXPECT_EQ(Paths("/").to_server("/a"), "/a");
  EXPECT_EQ(Paths("").from_server("/"), "/");
  EXPECT_EQ(Paths("").from_server("/a"), "/a");
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
