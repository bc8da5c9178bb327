"""Running test programs: shell scripts that print what GoogleTest prints."""
import os
import pathlib
import stat
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/check'))

import process  # noqa: E402
import programs  # noqa: E402

# Runs what its filter says: "good" passes, "bad" fails, "dies" ends the process, "leaks" ends it with another
# status than the outcome of the tests.
SCRIPT = r'''#!/bin/sh
case $1 in
  --gtest_list_tests) printf 'Suite.\n  good\n  bad  # GetParam() = 1\n  DISABLED_old\n'; exit 0 ;;
esac
status=0
for test in $(echo "${1#--gtest_filter=}" | tr : ' '); do
  echo "[ RUN      ] $test"
  case $test in
    *bad*) echo "why it fails"; echo "[  FAILED  ] $test, where GetParam() = 1 (7 ms)"; status=1 ;;
    *dies*) echo "last words"; kill -9 $$ ;;
    *leaks*) echo "[       OK ] $test (1 ms)"; status=23 ;;
    *skips*) echo "[  SKIPPED ] $test (0 ms)" ;;
    *) printf 'no line end[       OK ] %s (2 ms)\n' "$test" ;;
  esac
done
echo "[  FAILED  ] Suite.bad"
exit $status
'''


LISTING = """{"tests": [
  {"name": "pool", "command": ["/build/bin/test_pool"], "properties": [{"name": "TIMEOUT", "value": 1}]},
  {"name": "store", "command": ["/build/bin/test_store"],
   "properties": [{"name": "LABELS", "value": ["gtest", "shared-service", "starts-daemons"]}]},
  {"name": "fuzz: json", "command": ["/build/bin/corpus_json", "/tests/fuzz/corpus/json"], "properties": []},
  {"name": "page", "properties": [{"name": "REQUIRED_FILES", "value": ["/build/bin/test_page"]}]}
]}"""


class Listing(unittest.TestCase):
    def test_programs_whether_they_have_been_built_or_not(self):
        pool, store, corpus, page = programs.parse_listing(LISTING)
        self.assertEqual((pool.name, pool.target, pool.is_gtest), ('pool', 'test_pool', False))
        self.assertEqual((store.is_gtest, store.is_whole, store.reads_documents), (True, True, False))
        self.assertEqual((pool.starts_daemons, store.starts_daemons), (False, True))
        self.assertEqual((pool.is_built, page.is_built, page.target), (True, False, 'test_page'))
        self.assertEqual((store.source_folder, corpus.source_folder), ('tests/store', 'tests/fuzz/corpus/json'))


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.script = os.path.join(folder.name, 'test_suite')
        pathlib.Path(self.script).write_text(SCRIPT)
        os.chmod(self.script, stat.S_IRWXU)

    def program(self, is_gtest=True, is_whole=False, *arguments):
        return programs.Program('suite', [self.script, *arguments], is_gtest, is_whole)

    def run_tests(self, *tests):
        cases = programs.run_batch(programs.Batch(self.program(), list(tests)), process.Budget())
        return {case.name: case for case in cases}

    def outcomes(self, *tests):
        return {name: case.outcome for name, case in self.run_tests(*tests).items()}

    def test_lists_tests_that_are_enabled(self):
        program = self.program()
        programs.list_tests(program)
        self.assertEqual(program.tests, ['Suite.good', 'Suite.bad'])

    def test_outcomes_are_those_that_are_printed(self):
        cases = self.run_tests('S.good', 'S.bad', 'S.skips', 'S.good2')
        self.assertEqual({name: case.outcome for name, case in cases.items()},
                         {'S.good': 'passed', 'S.bad': 'failed', 'S.skips': 'skipped', 'S.good2': 'passed'})
        self.assertIn('why it fails', cases['S.bad'].output)
        self.assertEqual(cases['S.bad'].seconds, 0.007)

    def test_freed_memory_is_overwritten(self):
        pathlib.Path(self.script).write_text('#!/bin/sh\ntest -n "$MALLOC_PERTURB_"\n')
        program = self.program(False, False)
        programs.list_tests(program)
        [case] = programs.run_batch(programs.Batch(program, program.tests), process.Budget())
        self.assertEqual(case.outcome, 'passed')

    def test_those_behind_a_test_that_dies_run_in_another_process(self):
        cases = self.run_tests('S.good', 'S.dies', 'S.good2', 'S.dies2', 'S.good3')
        self.assertEqual({name: case.outcome for name, case in cases.items()},
                         {'S.good': 'passed', 'S.dies': 'failed', 'S.good2': 'passed', 'S.dies2': 'failed',
                          'S.good3': 'passed'})
        self.assertIn('last words', cases['S.dies'].output)
        self.assertIn('-9', cases['S.dies'].output)

    def test_what_goes_wrong_on_the_way_out_fails_the_last_test(self):
        self.assertEqual(self.outcomes('S.good', 'S.leaks'), {'S.good': 'passed', 'S.leaks': 'failed'})

    def test_a_program_of_its_own_kind_passes_by_its_status(self):
        for argument, outcome in (('--gtest_filter=S.good', 'passed'), ('--gtest_filter=S.bad', 'failed')):
            program = self.program(False, False, argument)
            programs.list_tests(program)
            self.assertEqual(program.tests, ['suite'])
            [case] = programs.run_batch(programs.Batch(program, program.tests), process.Budget())
            self.assertEqual((case.name, case.outcome), ('suite', outcome))

    def test_tests_that_share_a_service_stay_together(self):
        def sizes(count, is_whole=False):
            tests = [f'S.t{i}' for i in range(count)]
            return [len(batch.tests) for batch in programs.batches_of(self.program(True, is_whole), tests)]
        self.assertEqual(sizes(3), [1, 1, 1])
        self.assertEqual(sizes(100), [13] * 7 + [9])
        self.assertEqual(sizes(1000), [40] * 25)
        self.assertEqual(sizes(100, is_whole=True), [100])
        self.assertEqual(sizes(0), [])

    def test_nothing_runs_when_the_time_is_over(self):
        with self.assertRaises(process.OutOfTime):
            programs.run_all([programs.Batch(self.program(), ['S.good'])], process.Budget(0), 1)

    def test_nothing_begins_after_the_time_for_beginning(self):
        batches = [programs.Batch(self.program(), ['S.good']), programs.Batch(self.program(is_whole=True), ['S.good'])]
        self.assertEqual(programs.run_all(batches, process.Budget(), 1, until=process.Budget(0)), [])
        self.assertEqual(len(programs.run_all(batches, process.Budget(), 1, until=process.Budget())), 2)


if __name__ == '__main__':
    unittest.main()
