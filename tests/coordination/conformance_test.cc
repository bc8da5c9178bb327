#include "tests/coordination/conformance.h"

#include "tests/coordination/memory_fixture.h"

namespace nodepool::coordination::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(memory, StoreConformance, testing::Values(backend<MemoryFixture>()));

}  // namespace
}  // namespace nodepool::coordination::conformance
