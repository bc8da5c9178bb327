#include "tests/coordination/conformance.h"

#include "tests/coordination/sqlite/sqlite_fixture.h"

namespace nodepool::coordination::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(sqlite, StoreConformance,
                         testing::Values(backend<sqlite::SqliteFixture>()));

}  // namespace
}  // namespace nodepool::coordination::conformance
