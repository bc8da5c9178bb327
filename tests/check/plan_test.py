"""What is run, in which order."""
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/check'))

import change  # noqa: E402
import plan  # noqa: E402
import process  # noqa: E402
import suites  # noqa: E402
from results import Result, TestCase  # noqa: E402
from programs import Batch, Program  # noqa: E402
from suites import Failed, Run, Suite, describe_rounds  # noqa: E402


def perform(function):
    return plan.perform(Suite('x', '', function), 'x', Run(process.Budget()))


class Plan(unittest.TestCase):
    def test_the_most_informative_steps_come_first(self):
        self.assertEqual(plan.steps_for({'aws': True, 'web': False}, is_ci=False),
                         ['format', 'headers', 'docs', 'stability', 'words', 'changes', 'quick', 'lint', 'web', 'aws', 'asan',
                          'repeated'])

    def test_continuous_integration_has_seeds_and_counts_whatever_has_changed(self):
        self.assertEqual(plan.steps_for({}, is_ci=True),
                         ['format', 'headers', 'docs', 'stability', 'words', 'changes', 'quick', 'simulation', 'counts',
                          'lint', 'asan', 'repeated'])

    def test_what_is_not_smoke_decides_nothing_if_there_is_no_time_for_it(self):
        def late(run):
            raise process.OutOfTime
        self.assertEqual(perform(late).verdict, 'NOT DECIDED')
        self.assertEqual(plan.rest(Suite('x', '', late), Run(process.Budget())).verdict, 'passed')
        self.assertEqual(plan.rest(Suite('x', '', lambda run: Result('x', failed=1)), Run(process.Budget())).verdict,
                         'FAILED')

    def test_tests_beyond_smoke_tests_have_time_of_their_own_however_long_the_others_took(self):
        clock = [0]
        limits = {}

        def perform_suite(suite, name, run):
            limits[name] = run.budget.left()
            clock[0] += 1200
            return Result(name, passed=1)

        with mock.patch('time.monotonic', lambda: clock[0]), mock.patch.object(plan, 'bootstrap'), \
                mock.patch.object(change, 'changed_files', return_value=['src/drivers/aws/aws.cc']), \
                mock.patch.object(plan, 'steps_for', return_value=['quick', 'aws']), \
                mock.patch.object(plan, 'perform', perform_suite):
            plan.run_changed('base', is_ci=True)
        self.assertEqual(limits['aws-rest'], plan.CI_REST_BUDGET)
        whole = process.Budget(plan.CI_REST_BUDGET / 2)
        self.assertLessEqual(whole.part(plan.CI_REST_BUDGET).left(), plan.CI_REST_BUDGET / 2)

    def test_continuous_integration_runs_each_test_program_once(self):
        pool, page, script = (Program('pool', ['/b/test_pool'], True), Program('page', ['/b/test_page'], True),
                              Program('check', ['python3'], False))
        performed = {}

        def test_programs(suite, run, there):
            performed[suite] = there
        with mock.patch.multiple(suites, configured=lambda run, preset='check': [pool, page, script], build=mock.DEFAULT,
                                 built=lambda folder, wanted: wanted, test_programs=test_programs) as mocks, \
                mock.patch.object(change, 'concerned_programs', return_value=[pool]):
            run = Run(process.Budget(), since='base', changed=['src/pool/pool.cc'], is_ci=True)
            suites.quick(run)
            suites.asan(run)
        self.assertEqual(performed, {'quick': [page, script], 'asan': [pool]})
        self.assertEqual([call.args[-1] if len(call.args) > 1 else call.kwargs['targets']
                          for call in mocks['build'].call_args_list],
                         [['src/all', 'bench/all', 'test_page'], ['test_pool']])

    def test_changed_tests_run_as_the_suites_before_have_built_them(self):
        pool, daemons = (Program(name, [f'/b/test_{name}'], True, starts_daemons=name == 'daemons')
                         for name in ('pool', 'daemons'))
        run = Run(process.Budget(), since='base', changed=['tests/pool/pool_test.cc', 'tests/daemons/x_test.cc'], is_ci=True)
        with mock.patch.multiple(suites, configured=lambda run, preset='check': [pool, daemons], build=mock.DEFAULT,
                                 built=lambda folder, wanted: [(folder, program.name) for program in wanted]) as mocks, \
                mock.patch.object(change, 'concerned_programs', return_value=[pool]):
            self.assertEqual(suites.programs_with_changed_tests(run), [(suites.BUILD, 'daemons'), (suites.SANITIZED, 'pool')])
            run.is_ci = False
            self.assertEqual(suites.programs_with_changed_tests(run), [(suites.BUILD, 'pool'), (suites.BUILD, 'daemons')])
        self.assertEqual([call.kwargs['targets'] for call in mocks['build'].call_args_list],
                         [['test_daemons'], ['test_pool', 'test_daemons']])

    def test_how_often_each_test_was_run_is_said_and_that_one_was_not(self):
        batches = [Batch(Program('p', [], True), ['S.a']), Batch(Program('p', [], True), ['S.b'])]
        a, b = (TestCase('p', name, 0, 'passed', '') for name in ('S.a', 'S.b'))
        self.assertIn('loops: 1', describe_rounds(batches, [a, b]))
        self.assertIn('loops: 0 to 2', describe_rounds(batches, [a, a]))

    def test_names_of_the_interface_are_compared_with_a_base_in_each_run(self):
        for since, base in ((None, 'passed'), ('older', 'older')):
            with mock.patch.object(change, 'base', return_value='passed'), mock.patch.object(suites, 'single') as single:
                suites.changes(Run(process.Budget(), since=since))
            self.assertEqual(single.call_args.args[-2:], ('--check', base))

    def test_a_suite_that_breaks_has_failed(self):
        for error in (Failed('cmake'), FileNotFoundError('x'), ValueError('a defect')):
            def breaks(run, error=error):
                raise error
            self.assertEqual(perform(breaks).verdict, 'FAILED')


if __name__ == '__main__':
    unittest.main()
