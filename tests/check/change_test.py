"""What a change concerns: the map, patterns, and finding changed tests in sources."""
import contextlib
import datetime
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/check'))

import change  # noqa: E402
from programs import Program  # noqa: E402
from suites import BY_NAME  # noqa: E402

SOURCE = '''#include <gtest/gtest.h>

// Why.
TEST(Pool, grows) {
  EXPECT_TRUE(grows());
}

TEST_P(PoolTest, shrinks) {
  EXPECT_TRUE(shrinks());
}
'''


def concerned(lines, *paths):
    return change.concerned_suites(change.parse_map(lines), paths)


class MapOfTheTree(unittest.TestCase):
    lines = change.parse_map((ROOT / change.MAP).read_text())

    def test_names_each_file(self):
        files = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], cwd=ROOT,
                               check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertGreater(len(files), 1000)
        self.assertEqual([path for path in files if not change.lines_for(self.lines, path)], [])

    def test_names_suites_that_there_are(self):
        named = {suite.rstrip(change.WHOLE) for _, suites in self.lines for suite in suites}
        self.assertEqual(named - BY_NAME.keys(), set())

    def test_has_no_line_that_matches_nothing(self):
        files = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], cwd=ROOT,
                               check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertEqual([pattern for pattern, _ in self.lines
                          if not any(change.expression(pattern).fullmatch(path) for path in files)], [])

    def test_a_driver_concerns_all_of_its_suite(self):
        self.assertTrue(change.concerned_suites(self.lines, ['src/drivers/aws/api/ec2.cc'])['aws'])

    def test_the_status_page_concerns_all_of_its_suite(self):
        self.assertTrue(change.concerned_suites(self.lines, ['src/page/assets/app.js'])['web'])

    def test_a_folder_that_no_line_names_is_found(self):
        self.assertEqual(change.lines_for(self.lines, 'src/novelty/file.cc'), [])


class Map(unittest.TestCase):
    def test_all_matching_lines_count(self):
        self.assertEqual(concerned('src/**: quick\nsrc/{a,b}/*: web api!  # why\nsrc/a/deep/**: aws', 'src/b/x.cc'),
                         {'quick': False, 'web': False, 'api': True})

    def test_whole_wins(self):
        self.assertEqual(concerned('a: web\nb: web!', 'a', 'b'), {'web': True})
        self.assertEqual(concerned('a: web\nb: web!', 'b', 'a'), {'web': True})

    def test_a_star_ends_at_a_slash(self):
        self.assertEqual(concerned('src/*: web', 'src/a/b.cc'), {})
        self.assertEqual(concerned('*.md: web', 'README.md'), {'web': False})

    def test_nothing_is_concerned_by_a_dash(self):
        self.assertEqual(concerned('*: -', 'README.md'), {})

    def test_a_line_without_suites_is_refused(self):
        for text in ('src/**', 'src/**:'):
            with self.assertRaisesRegex(ValueError, 'tests/concerns:1'):
                change.parse_map(text)


class Base(unittest.TestCase):
    """The base of a history of three commits, which are `ages` hours old."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(contextlib.chdir(self.folder))
        change.git('init', '--quiet')

    def commit(self, hours):
        when = (datetime.datetime.now() - datetime.timedelta(hours=hours)).astimezone().isoformat()
        subprocess.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '--quiet',
                        '--allow-empty', '--message', f'{hours} hours'], check=True,
                       env={**os.environ, 'GIT_COMMITTER_DATE': when, 'GIT_AUTHOR_DATE': when})
        return change.git('rev-parse', 'HEAD').strip()

    def passed(self, commit):
        change.PASSED.parent.mkdir(exist_ok=True)
        change.PASSED.write_text(commit + '\n')

    def test_is_a_day_old_without_a_commit_that_has_passed(self):
        _, old, _ = (self.commit(hours) for hours in (72, 48, 1))
        self.assertEqual(change.base(), old)

    def test_is_the_commit_that_has_passed_if_it_is_newer(self):
        _, newer, _ = (self.commit(hours) for hours in (48, 5, 1))
        self.passed(newer)
        self.assertEqual(change.base(), newer)

    def test_is_a_day_old_if_what_has_passed_is_older(self):
        older, old, _ = (self.commit(hours) for hours in (72, 48, 1))
        self.passed(older)
        self.assertEqual(change.base(), old)

    def test_ignores_what_is_not_in_the_history(self):
        _, old, gone = (self.commit(hours) for hours in (72, 48, 2))
        change.git('reset', '--quiet', '--hard', old)
        self.commit(1)
        for other in (gone, '0' * 40, 'nonsense', ''):
            self.passed(other)
            self.assertEqual(change.base(), old)

    def test_is_everything_in_a_young_history(self):
        self.commit(1)
        self.assertEqual(change.base(), change.git('hash-object', '-t', 'tree', '/dev/null').strip())


class Programs(unittest.TestCase):
    """Of a tree with the module `pool`, its tests, which share a header with the tests of a driver, tests of daemons, and
    a script."""
    pool = Program('pool', ['build/bin/test_pool'], is_gtest=True)
    driver = Program('drivers/aws', ['build/bin/test_drivers_aws'], is_gtest=True, is_built=False)
    daemons = Program('daemons', ['build/bin/test_daemons'], is_gtest=True, starts_daemons=True)
    script = Program('check', ['/usr/bin/python3', 'change_test.py'], is_gtest=False, reads_documents=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for path, text in {'tests/pool/pool_test.cc': '#include "tests/pool/double.h"\n', 'tests/pool/double.h': '',
                           'tests/pool/double.cc': '', 'tests/drivers/aws/stand_in/server.h': '',
                           'tests/drivers/aws/aws_test.cc': '#include "tests/drivers/aws/shared.h"\n',
                           'tests/drivers/aws/shared.h': '#include "tests/pool/double.h"\n'}.items():
            pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(path).write_text(text)
        for target in ('src/pool/CMakeFiles/nodepool_pool.dir', 'src/main/CMakeFiles/nodepool.dir',
                       'tests/pool/CMakeFiles/test_pool.dir', 'tests/drivers/aws/CMakeFiles/test_drivers_aws.dir',
                       'tests/daemons/CMakeFiles/test_daemons.dir'):
            pathlib.Path('build', target).mkdir(parents=True)

    def concerned(self, *paths, **how):
        module = {os.path.abspath('src/pool/pool.h'), 'src/pool/CMakeFiles/nodepool_pool.dir/Unity/unity_0.o'}
        inputs = {'pool': {'tests/pool/CMakeFiles/test_pool.dir/Unity/unity_0.o'} | module,
                  'drivers/aws': {'tests/drivers/aws/CMakeFiles/test_drivers_aws.dir/Unity/unity_0.o'},
                  'daemons': {'tests/daemons/CMakeFiles/test_daemons.dir/daemons_test.o',
                              'src/main/CMakeFiles/nodepool.dir/nodepool.o'} | module,
                  'check': set()}
        with mock.patch.object(change, 'inputs_of', lambda build, program: inputs[program.name]):
            return change.concerned_programs('build', [self.pool, self.driver, self.daemons, self.script], paths, **how)

    def test_are_those_that_a_changed_module_is_part_of_and_those_that_read_documents(self):
        self.assertEqual(self.concerned('src/pool/pool.h'), [self.pool, self.daemons, self.script])
        self.assertEqual(self.concerned('src/pool/new.cc'), [self.pool, self.daemons, self.script])
        self.assertEqual(self.concerned('src/main/nodepool.cc'), [self.daemons, self.script])

    def test_are_those_whose_tests_use_a_changed_file_of_tests(self):
        self.assertEqual(self.concerned('tests/pool/pool_test.cc'), [self.pool, self.script])
        self.assertEqual(self.concerned('tests/drivers/aws/stand_in/server.h'), [self.driver, self.script])
        for path in ('tests/pool/double.h', 'tests/pool/double.cc'):
            self.assertEqual(self.concerned(path), [self.pool, self.driver, self.script])

    def test_are_all_if_a_source_belongs_to_no_target(self):
        self.assertEqual(self.concerned('src/new/new.h', by_code_alone=True), [self.pool, self.driver])

    def test_are_compiled_ones_if_only_code_counts(self):
        self.assertEqual(self.concerned('src/pool/pool.h', by_code_alone=True), [self.pool])
        self.assertEqual(self.concerned('tests/check/change_test.py', by_code_alone=True), [])
        self.assertEqual(self.concerned(by_code_alone=True), [])

    def test_of_daemons_count_only_if_not_by_code_alone(self):
        self.assertEqual(self.concerned('tests/daemons/daemons_test.cc'), [self.daemons, self.script])
        self.assertEqual(self.concerned('tests/daemons/daemons_test.cc', by_code_alone=True), [])


class ChangedTests(unittest.TestCase):
    def test_tests_with_changed_lines(self):
        self.assertEqual(change.tests_at(SOURCE, {5}), {('Pool', 'grows')})
        self.assertEqual(change.tests_at(SOURCE, {8}), {('PoolTest', 'shrinks')})
        self.assertEqual(change.tests_at(SOURCE, {1, 7}), set())

    def test_parameters_are_found_by_the_names_in_the_source(self):
        tests = {('PoolTest', 'shrinks')}
        self.assertTrue(change.is_one_of('All/PoolTest.shrinks/3', tests))
        self.assertTrue(change.is_one_of('PoolTest/0.shrinks', tests))
        self.assertFalse(change.is_one_of('All/PoolTest.shrinks_too/3', tests))
        self.assertFalse(change.is_one_of('OtherPoolTest.shrinks', tests))


if __name__ == '__main__':
    unittest.main()
