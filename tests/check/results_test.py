"""Verdicts, the table, JUnit files; running commands within a time limit."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/check'))

import process  # noqa: E402
from results import FAILED, NOT_DECIDED, PASSED, Result, TestCase, read_junit, table, write_junit  # noqa: E402


class Results(unittest.TestCase):
    def test_what_is_not_decided_is_not_passed(self):
        self.assertEqual(Result('a', passed=3).verdict, PASSED)
        self.assertEqual(Result('a', passed=3, out_of_time=True).verdict, NOT_DECIDED)
        self.assertEqual(Result('a', failed=1, out_of_time=True).verdict, FAILED)

    def test_the_table_names_flaky_tests(self):
        lines = table([Result('quick', passed=12, flaky=['Pool.grows'], seconds=61.4, cpu_seconds=100),
                       Result('lint', out_of_time=True, note='why')]).splitlines()
        self.assertEqual(lines, ['suite  tests  failed  flaky  seconds  CPU  verdict',
                                 'quick     12       0      1       61  100  passed',
                                 'lint       0       0      0        0    0  NOT DECIDED (why)',
                                 'FLAKY: quick: Pool.grows passed only when retried alone'])

    def test_junit_files_are_read_as_they_were_written(self):
        cases = [TestCase('pool', 'Pool.grows', 1.5), TestCase('pool', 'Pool.dies', 0, 'failed', 'why\x1b <&'),
                 TestCase('pool', 'Pool.waits', 0, 'skipped', 'no cloud')]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'results', 'quick.xml')
            write_junit(path, 'quick', cases)
            again = read_junit(path)
        cases[1].output = 'why� <&'
        self.assertEqual(again, cases)
        self.assertEqual(read_junit(path), [])


class Process(unittest.TestCase):
    def test_a_command_that_takes_too_long_is_ended_with_what_it_started(self):
        with self.assertRaises(process.OutOfTime):
            process.run(['sh', '-c', 'sleep 1000 & sleep 1000'], process.Budget(0.2))

    def test_the_exit_status(self):
        self.assertEqual(process.run(['sh', '-c', 'exit 3'], process.Budget()), 3)

    def test_no_command_begins_when_the_time_is_over(self):
        with self.assertRaises(process.OutOfTime):
            process.run(['/does/not/exist'], process.Budget(0))


if __name__ == '__main__':
    unittest.main()
