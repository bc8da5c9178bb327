// Programs that the tests run are supervised by this executable.

#include <gtest/gtest.h>

#include "async/supervisor.h"

int main(int argc, char** argv) {
  if (const auto status = nodepool::async::supervise_if_asked(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
