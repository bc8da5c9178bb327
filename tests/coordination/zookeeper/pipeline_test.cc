// Batches of requests and their results.
#include "coordination/zookeeper/pipeline.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "coordination/zookeeper/errors.h"

namespace nodepool::coordination::zookeeper {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Access = Request::Access;

constexpr std::int32_t kSystemError = -1;

class ZooKeeperPipeline : public testing::Test {
 protected:
  void add(Access access, const std::string& path, std::string frame) {
    Request request;
    request.access = access;
    request.path = path;
    request.frame = std::move(frame);
    request.on_response = [this, path](const ReplyHeader& header, Reader& body) {
      if (header.error == kOk) {
        results_.push_back(path + " " + std::string(body.string()));
      } else {
        results_.push_back(path + " error " + std::to_string(header.error));
      }
    };
    request.failed = [this, path](const StoreError& error) {
      results_.push_back(path + " " + std::string(to_string(error.kind())));
    };
    pipeline_.add(std::move(request));
  }
  void get(const std::string& path) { add(Access::read, path, get_request(path)); }
  void set(const std::string& path) { add(Access::write, path, set_request(path, "", 0)); }

  // The types of the requests sent now.
  std::vector<std::int32_t> send() {
    std::vector<std::int32_t> types;
    for (const auto& request : pipeline_.send_some()) {
      Reader reader(std::string_view(request->frame).substr(sizeof(std::int32_t)));
      reader.integer();  // its xid
      types.push_back(reader.integer());
    }
    return types;
  }

  void deliver_response(std::int32_t xid, Writer writer, std::int32_t error = kOk) {
    const std::string frame = std::move(writer).finish();
    Reader reader(std::string_view(frame).substr(sizeof(std::int32_t)));
    pipeline_.deliver_response({xid, 1, error}, reader);
  }

  static Writer& part(Writer& writer, std::int32_t type) {
    return writer.integer(type).boolean(false).integer(-1);
  }
  static Writer& end(Writer& writer) { return writer.integer(-1).boolean(true).integer(-1); }

  // Only the text of the response matters to the tests' requests.
  static Writer texts(const std::vector<std::string>& answers) {
    Writer writer;
    for (const std::string& text : answers) part(writer, 4).string(text);
    end(writer);
    return writer;
  }

  Pipeline pipeline_;
  std::vector<std::string> results_;
};

TEST_F(ZooKeeperPipeline, a_read_alone_is_sent_as_it_is) {
  get("/a");
  EXPECT_THAT(send(), ElementsAre(4));
}

TEST_F(ZooKeeperPipeline, reads_that_wait_together_are_sent_as_one) {
  get("/a");
  add(Access::read, "/b", children_request("/b"));
  get("/c");
  EXPECT_THAT(send(), ElementsAre(22));
  Writer writer;
  part(writer, 4).string("one");
  part(writer, -1).integer(kNoNode);
  part(writer, 4).string("three");
  end(writer);
  deliver_response(1, std::move(writer));
  EXPECT_THAT(results_, ElementsAre("/a one", "/b error -101", "/c three"));
}

TEST_F(ZooKeeperPipeline, nothing_is_passed_by_what_cannot_be_combined) {
  get("/a");
  get("/b");
  set("/c");
  get("/d");
  add(Access::read, "/e", exists_request("/e"));
  get("/f");
  EXPECT_THAT(send(), ElementsAre(22, 5, 4, 3, 4));
}

TEST_F(ZooKeeperPipeline, the_number_and_the_size_of_combined_reads_are_bounded) {
  for (std::size_t i = 0; i < Pipeline::kMostReads + 2; ++i) get("/a");
  EXPECT_THAT(send(), ElementsAre(22, 22));
  const std::string long_path(40'000, 'x');
  for (int i = 0; i < 3; ++i) get(long_path);
  EXPECT_THAT(send(), ElementsAre(4, 4, 4));
}

TEST_F(ZooKeeperPipeline, each_read_gets_the_error_of_a_rejected_batch) {
  get("/a");
  get("/b");
  send();
  deliver_response(1, Writer(), kSystemError);
  EXPECT_THAT(results_, ElementsAre("/a error -1", "/b error -1"));
}

TEST_F(ZooKeeperPipeline, a_server_without_batch_reads_gets_single_reads) {
  get("/a");
  get("/b");
  send();
  deliver_response(1, Writer(), kUnimplemented);
  EXPECT_THAT(results_, IsEmpty());
  EXPECT_THAT(send(), ElementsAre(4, 4));
  pipeline_.connection_lost("cut");
  get("/c");
  get("/d");
  EXPECT_THAT(send(), ElementsAre(4, 4));  // also on the next connection
}

TEST_F(ZooKeeperPipeline, each_read_that_was_under_way_fails_with_the_connection) {
  get("/a");
  get("/b");
  set("/c");
  send();
  pipeline_.connection_lost("cut");
  EXPECT_THAT(results_, ElementsAre("/a store unreachable", "/b store unreachable",
                                    "/c connection lost, outcome unknown"));
}

TEST_F(ZooKeeperPipeline, a_connection_that_broke_under_many_reads_is_followed_by_smaller_ones) {
  const auto sent_for_a_hundred_reads = [this] {
    for (int i = 0; i < 100; ++i) get("/a");
    std::vector<std::int32_t> types = send();
    while (!send().empty()) {
    }
    return types;
  };
  EXPECT_THAT(sent_for_a_hundred_reads(), SizeIs(1));
  pipeline_.connection_lost("too large an answer");
  EXPECT_THAT(sent_for_a_hundred_reads(), SizeIs(13));  // of 8 each
  pipeline_.connection_lost("too large an answer");
  EXPECT_THAT(sent_for_a_hundred_reads(), SizeIs(64));  // one by one, as many as a write carries
  pipeline_.connection_lost("cut");
  EXPECT_THAT(sent_for_a_hundred_reads(), SizeIs(1));
}

TEST_F(ZooKeeperPipeline, after_large_answers_fewer_reads_are_sent_as_one) {
  const std::string large(500'000, 'x');
  const auto sent_for_eight_reads = [this] {
    for (int i = 0; i < 8; ++i) get("/a");
    return send();
  };
  EXPECT_THAT(sent_for_eight_reads(), SizeIs(1));
  deliver_response(1, texts({large, large, large, large, large, large, large, large}));
  EXPECT_THAT(sent_for_eight_reads(), SizeIs(4));
  deliver_response(2, texts({"", ""}));
  EXPECT_THAT(sent_for_eight_reads(), SizeIs(2));
}

TEST_F(ZooKeeperPipeline, results_before_a_malformed_response_are_not_repeated) {
  get("/a");
  get("/b");
  get("/c");
  send();
  EXPECT_THROW(deliver_response(1, texts({"one", "two"})), MalformedMessage);
  EXPECT_THAT(results_, ElementsAre("/a one", "/b two"));
  pipeline_.connection_lost("malformed");
  EXPECT_THAT(results_, ElementsAre("/a one", "/b two", "/c store unreachable"));
}

TEST_F(ZooKeeperPipeline, a_node_is_being_changed_from_the_sending_to_the_answer) {
  for (int i = 0; i < 2; ++i) {
    Request request;
    request.access = Access::write;
    request.frame = set_request("/a", "", 0);
    request.changes = {"/a"};
    pipeline_.add(std::move(request));
  }
  EXPECT_FALSE(pipeline_.is_changing("/a"));
  send();
  EXPECT_TRUE(pipeline_.is_changing("/a"));
  EXPECT_FALSE(pipeline_.is_changing("/b"));
  deliver_response(1, Writer());
  EXPECT_TRUE(pipeline_.is_changing("/a"));  // by the other one
  pipeline_.connection_lost("cut");
  EXPECT_FALSE(pipeline_.is_changing("/a"));
}

TEST_F(ZooKeeperPipeline, an_answer_to_more_than_was_asked_is_refused) {
  get("/a");
  get("/b");
  send();
  EXPECT_THROW(deliver_response(1, texts({"one", "two", "three"})), MalformedMessage);
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
