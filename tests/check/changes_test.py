"""The changelog: fragments, their collection, and names of the interface that have changed without one."""
import contextlib
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/changes'))

import fragments  # noqa: E402
import interface  # noqa: E402
from fragments import Fragment  # noqa: E402

PAGE = '# Changelog\n\nWhat changed.\n\n## 12.0.0 – 2026-12-01\n\nThe first.\n'


class Fragments(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / 'changes').mkdir()
        (self.root / 'changes/README.md').write_text('# Guide\n')

    def problems(self, name, text):
        path = self.root / 'changes' / name
        path.write_text(text)
        found, problems = fragments.read(self.root)
        path.unlink()
        self.assertEqual(len(found) + len(problems), 1)
        return problems

    def test_the_tree_has_none_that_is_malformed(self):
        self.assertEqual(fragments.read(ROOT)[1], [])

    def test_one_paragraph_that_ends_with_a_period_is_accepted(self):
        self.assertEqual(self.problems('new-key.added.md', 'The key `x` sets\nthe limit.\n'), [])
        self.assertEqual(self.problems('a.fixed.md', 'It works (see `docs/x.md`.)\n'), [])

    def test_malformed_ones_are_refused(self):
        for name, text, problem in (
                ('new-key.md', 'Text.', 'the name'), ('New.added.md', 'Text.', 'the name'), ('x.txt', 'Text.', 'the name'),
                ('x.improved.md', 'Text.', 'unknown kind improved'), ('x.added.md', ' \n', 'empty'),
                ('x.added.md', 'One.\n\nTwo.\n', 'one paragraph'), ('x.added.md', '* One.\n', 'one paragraph'),
                ('x.added.md', '# One.\n', 'one paragraph'), ('x.added.md', 'One', 'a period'),
                ('x.added.md', 'See [x](y.md).', 'a link'), ('x.added.md', 'word ' * 80 + 'end.', 'more than 80 words')):
            with self.subTest(name=name, text=text):
                self.assertRegex(self.problems(name, text)[0], f'^changes/{name}: .*{problem}')


class Release(unittest.TestCase):
    FOUND = [Fragment(None, 'fixed', 'A fix.'), Fragment(None, 'added', 'A key. ' * 30), Fragment(None, 'added', 'B.')]

    def test_a_new_one_comes_first_with_its_changes_by_kind(self):
        page = fragments.release(PAGE, '12.1.0', self.FOUND, '2027-01-31')
        head, rest = page.split('### Added')
        self.assertEqual(head, '# Changelog\n\nWhat changed.\n\n## 12.1.0 – 2027-01-31\n\n')
        self.assertTrue(rest.endswith('\n* B.\n\n### Fixed\n\n* A fix.\n\n## 12.0.0 – 2026-12-01\n\nThe first.\n'), rest)
        self.assertLessEqual(max(map(len, page.splitlines())), fragments.WIDTH)

    def test_what_is_written_already_stays_above_them(self):
        page = fragments.release('# C\n\n## 12.0.0\n\nThe first.\n\n## 11.9.0 – 2026-01-01\n', '12.0.0', self.FOUND[:1], '2026-12-01')
        self.assertEqual(page, '# C\n\n## 12.0.0 – 2026-12-01\n\nThe first.\n\n### Fixed\n\n* A fix.\n\n## 11.9.0 – 2026-01-01\n')

    def test_what_is_to_be_done_before_the_upgrade_comes_first(self):
        found = [Fragment(None, 'upgrade', text) for text in ('Later, x.', 'Before the upgrade, y.', 'Later, z.')]
        self.assertEqual(fragments.notes([*self.FOUND[:1], *found]),
                         '### Upgrade\n\n* Before the upgrade, y.\n* Later, x.\n* Later, z.\n\n### Fixed\n\n* A fix.\n')

    def test_a_long_list_has_subjects(self):
        texts = ['A launch with `gce` ends.', 'Builds end.', 'Nodes end.', 'With EC2, it ends.', 'Builders end.']
        found = [Fragment(None, 'fixed', text) for text in texts + ['It ends.'] * (fragments.MOST_TOGETHER - len(texts))]
        self.assertNotIn('####', fragments.notes(found))
        self.assertEqual(fragments.notes([*found, Fragment(None, 'fixed', '`nodepool list` ends.')]),
                         '### Fixed\n\n#### Launcher and daemons\n\n* Nodes end.\n' + '* It ends.\n' * 7 +
                         '\n#### Commands\n\n* `nodepool list` ends.\n'
                         '\n#### Builder and images\n\n* Builds end.\n* Builders end.\n'
                         '\n#### Driver `aws`\n\n* With EC2, it ends.\n'
                         '\n#### Driver `gce`\n\n* A launch with `gce` ends.\n')

    def test_without_fragments_it_has_its_heading(self):
        self.assertEqual(fragments.release('# C\n', '12.0.0', [], '2026-12-01'), '# C\n\n## 12.0.0 – 2026-12-01\n')

    def test_a_released_one_or_no_version_is_refused(self):
        for version in ('12.0.0', 'v12.1.0', '12.1', '12.1.0-rc1'):
            self.assertRaises(ValueError, fragments.release, PAGE, version, [])

    def test_it_is_released_once_it_has_a_date(self):
        self.assertTrue(fragments.is_released(PAGE, '12.0.0'))
        self.assertFalse(fragments.is_released('## 12.0.0\n', '12.0.0'))
        self.assertFalse(fragments.is_released(PAGE, '12.0'))


class Subject(unittest.TestCase):
    def test_it_is_the_driver_of_the_first_sentence_or_the_part_that_is_named_first(self):
        for text, subject in (
                ('Uploads to `openstack` succeed.', 'Driver `openstack`'),
                ('AWS and Azure: launches end.', 'Driver `aws`'),
                ('Uploads end. With Azure, they did not.', 'Builder and images'),
                ('The builder runs `nodepool x`.', 'Builder and images'),
                ('`nodepool image-build` starts a build.', 'Commands'),
                ('Static parts of a URL are kept.', 'Launcher and daemons')):
            with self.subTest(text=text):
                self.assertEqual(fragments.subject_of(text), subject)


class Since(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(contextlib.chdir(self.root))
        subprocess.run(['git', 'init', '--quiet'], check=True)
        self.write('changes/README.md', '# Guide\n')
        self.commit()
        self.write('tests/stability/metrics.txt', 'nodepool_nodes: gauge\n')
        self.write('tests/stability/commands.txt', 'nodepool list --quiet\n')
        self.commit()

    def write(self, path, content):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(content)

    def commit(self):
        subprocess.run(['git', 'add', '.'], check=True)
        subprocess.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '--quiet', '-m', 'x'], check=True)

    def test_other_files_need_no_fragment(self):
        self.write('docs/x.md', '# More\n')
        self.assertEqual(interface.problems(self.root, 'HEAD'), [])

    def test_a_name_that_is_added_or_removed_needs_one(self):
        self.write('tests/stability/metrics.txt', 'nodepool_machines: gauge\n')
        self.assertEqual(interface.problems(self.root, 'HEAD'),
                         ['metrics: added nodepool_machines: gauge', 'metrics: removed nodepool_nodes: gauge'])
        self.write('changes/machines.added.md', 'The metric `nodepool_machines`.\n')
        self.assertEqual(interface.problems(self.root, 'HEAD'), [])

    def test_the_changelog_itself_will_do(self):
        self.write('tests/stability/new.txt', 'name\n')
        self.assertNotEqual(interface.problems(self.root, 'HEAD'), [])
        self.write('CHANGELOG.md', '# Changelog\n')
        self.assertEqual(interface.problems(self.root, 'HEAD'), [])

    def test_a_commit_without_lists_is_not_compared(self):
        self.assertEqual(interface.problems(self.root, 'HEAD~'), [])


if __name__ == '__main__':
    unittest.main()
