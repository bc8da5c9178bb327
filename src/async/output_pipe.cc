#include "async/output_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"

namespace nodepool::async {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kPipeSize = std::size_t{64} << 10;  // bytes; Linux's default

[[noreturn]] void pipe_failed() {
  throw std::system_error(errno, std::generic_category(), "cannot create a pipe");
}

}  // namespace

struct OutputPipe::Reader::Descriptor {
  explicit Descriptor(int descriptor) : number(descriptor) {}
  ~Descriptor() { ::close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number;
};

OutputPipe::Reader::Reader(int descriptor)
    : descriptor_(std::make_shared<const Descriptor>(descriptor)) {}

OutputPipe::Reader::Found OutputPipe::Reader::read(std::string& text) const {
  ssize_t size = 0;
  text.resize(kPipeSize);
  do {
    size = ::read(descriptor_->number, text.data(), text.size());
  } while (size < 0 && errno == EINTR);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  if (size > 0) return Found::some;
  return size < 0 && errno == EAGAIN ? Found::nothing : Found::end;
}

struct OutputPipe::Ends {
  int writing;
  asio::posix::stream_descriptor reading;  // for waiting
  Reader reader;
};

OutputPipe::OutputPipe(const Executor& executor) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) pipe_failed();
  Reader reader(ends[0]);
  const int waited_for = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
  if (waited_for < 0 || ::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    ::close(ends[1]);
    if (waited_for >= 0) ::close(waited_for);
    pipe_failed();
  }
  ends_ = std::make_unique<Ends>(
      Ends{ends[1], asio::posix::stream_descriptor(executor, waited_for), std::move(reader)});
}

OutputPipe::~OutputPipe() {
  close_writing_end();
}

int OutputPipe::writing_end() const {
  return ends_->writing;
}

void OutputPipe::close_writing_end() {
  if (ends_->writing >= 0) ::close(std::exchange(ends_->writing, -1));
}

Task<> OutputPipe::readable() {
  co_await throw_if_cancelled();
  const WaitsFor waits(co_await asio::this_coro::executor, "output of a program");
  co_await ends_->reading.async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::as_tuple(asio::use_awaitable));
  co_await throw_if_cancelled();
}

const OutputPipe::Reader& OutputPipe::reader() const {
  return ends_->reader;
}

}  // namespace nodepool::async
