"""The check of language: each rule with a text that breaks it and one that does not."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/words'))

import glossary  # noqa: E402
import links  # noqa: E402
import names  # noqa: E402
import sentences  # noqa: E402
import texts  # noqa: E402
import tree  # noqa: E402
import type_names  # noqa: E402
import unused  # noqa: E402
from texts import File  # noqa: E402

RULES = unused.parse((ROOT / unused.RULES).read_text())


def page(content, path='docs/page.md'):
    return File(path, texts.read_page(content), content)


def source(content, path='src/x/x.cc'):
    return File(path, texts.read_source(content), content)


def words(file, rules=RULES):
    """(line, word) of what is found."""
    return [(finding.line, finding.text.split('"')[1]) for finding in unused.check(rules, [file])]


class Words(unittest.TestCase):
    def test_each_is_found_and_its_replacement_is_not(self):
        for bad, word, good in (
                ('The call is retried by whoever has the lock.', 'whoever', 'The holder of the lock retries the call.'),
                ('Nobody reads it.', 'Nobody', 'No launcher reads it.'),
                ('It needs somebody.', 'somebody', 'It needs attention.'),
                ("It is somebody's node.", "somebody's", "It is another user's node."),
                ('Its holder keeps his lock.', 'his', 'The holder keeps its lock.'),
                ('Who has no token reads nothing.', 'Who has', 'A client without a token reads nothing.'),
                ('It ends for who has a token.', 'who has', 'It ends for users who have a token.'),
                ('For all who wait.', 'all who', 'For all waiting launches.'),
                ('The pool is that of the request.', 'that of', "The pool is the request's."),
                ('What it did is gone on with.', 'gone on with', 'It resumes interrupted work.'),
                ("It goes over the label's.", 'goes over the', "It overrides the label's."),
                ('A task has it in hand.', 'in hand', 'It is in progress.'),
                ('The request is put back.', 'put back', 'The request is reverted to requested.'),
                ('It puts back the request.', 'puts back', 'It reverts the request.'),
                ('Let go of it.', 'Let go', 'Release it.'),
                ('It looks at the machine.', 'looks at', 'It polls the machine.'),
                ('It looks whether it is there.', 'looks whether', 'It checks whether it exists.'),
                ('The launcher gives way.', 'gives way', 'The launcher backs off.'),
                ('It is tried again.', 'tried again', 'It is retried.'),
                ('The client is told.', 'is told', 'The client is notified.'),
                ('Tasks left behind.', 'left behind', 'Abandoned tasks.'),
                ('It fails for want of quota.', 'for want of', 'It fails because the quota is exhausted.'),
                ('Hosts that are out of order.', 'out of order', 'Unhealthy hosts.')):
            with self.subTest(bad):
                self.assertIn(word, [found for _, found in words(page(bad))])
                self.assertEqual([], words(page(good)))

    def test_prose_is_read_without_code_links_and_generated_tables(self):
        self.assertEqual([], words(page('`nobody` reads [it](nobody.md)\n\n    nobody\n\n```\nnobody\n```\n')))
        self.assertEqual([], words(page('<!-- generated: x -->\n\nNobody.\n\n<!-- end -->\n')))
        self.assertEqual([(5, 'nobody')], words(page('<!-- generated: x -->\nnobody\n<!-- end -->\n\nnobody\n')))

    def test_the_line_is_where_the_words_begin(self):
        self.assertEqual([(3, 'that of')], words(page('# x\n\nIt is that\nof the request.\n')))
        self.assertEqual([(4, 'nobody')], words(page('| a | b |\n|---|---|\n| x | y |\n| `a\\|b` | nobody |\n')))
        self.assertEqual([(3, 'nobody')], words(page('* x\n\n  nobody\n')))

    def test_sources_are_read_in_comments_and_strings(self):
        self.assertEqual([(1, 'nobody')], words(source('int nobody = 1;  // for nobody\n')))
        self.assertEqual([], words(source('int nobody = 1\'000;\n#include "nobody/nobody.h"\n')))
        self.assertEqual([(2, 'tried again')], words(source('log("It is "\n    "tried " "again");\n')))
        self.assertEqual([(1, 'looks at')], words(source('// It looks\n// at the node.\n')))
        self.assertEqual([(2, 'nobody')], words(source('/* For\n * nobody. */\n')))
        self.assertEqual([(1, 'nobody')], words(source('auto x = R"(// nobody)";\n')))

    def test_a_section_is_for_its_paths_and_kinds(self):
        rules = unused.parse('[strings in src/cli/*]\nhave .+ deleted => Delete.\n')
        text = 'x("have nodes deleted");  // have nodes deleted\n'
        self.assertEqual([(1, 'have nodes deleted')], words(source(text, 'src/cli/x.cc'), rules))
        self.assertEqual([], words(source(text, 'src/web/x.cc'), rules))

    def test_a_group_is_what_counts(self):
        rules = unused.parse('[prose in **]\nusers who|(who) => name it\n')
        self.assertEqual([], words(page('Users who wait.'), rules))
        self.assertEqual([(1, 'Who')], words(page('Who waits.'), rules))

    def test_a_line_that_cannot_be_read_is_refused(self):
        for text in ('nobody => x', '[prose in **]\nnobody', '[verse in **]\nnobody => x'):
            self.assertRaises(ValueError, unused.parse, text)


class Sentences(unittest.TestCase):
    def found(self, content):
        return [finding.line for finding in sentences.check([page(content)])]

    def test_forty_words_pass_and_one_more_does_not(self):
        self.assertEqual([], self.found('x ' * 39 + 'end.\n'))
        self.assertEqual([3], self.found('Short.\n\n' + 'x ' * 40 + 'end.\n'))

    def test_sentences_items_and_cells_count_by_themselves(self):
        half = 'x ' * 24 + 'x'
        self.assertEqual([], self.found(f'{half}. And {half}. `{half}` {half}.\n'))
        self.assertEqual([], self.found(f'* {half}\n* {half}\n\n{half}\n'))
        self.assertEqual([], self.found(f'| {half} | {half} |\n|---|---|\n| {half} | {half} |\n'))
        self.assertEqual([2], self.found(f'# x\n{half}; {half}.\n'))
        self.assertEqual([], self.found(f'{half}:\n\n    {half} {half}\n'))

    def test_a_link_counts_by_its_text(self):
        self.assertEqual([], self.found('x ' * 38 + '[two words](a-page-with-many-words.md#and-a-long-heading).\n'))
        self.assertEqual([1], self.found('x ' * 38 + '[now three words](page.md).\n'))


TABLE = '# Architecture\n\n{}\n\n## Glossary\n\n| Term | Meaning | Not |\n|---|---|---|\n{}'


class Glossary(unittest.TestCase):
    def found(self, rows, prose='A lease ends.'):
        file = page(TABLE.format(prose, rows), glossary.PAGE)
        terms, findings = glossary.read([file])
        findings += glossary.check(terms, [file]) + unused.check(glossary.rules(terms), [file])
        return [finding.text for finding in findings]

    def test_a_term_that_is_used_once_defined_is_in_order(self):
        self.assertEqual([], self.found('| lease | a hold | ledger, claim |\n'))
        self.assertEqual([], self.found('| lease | a hold | – |\n', 'Two leases.'))
        self.assertEqual([], self.found('| back off | wait | – |\n', 'It backs off.'))

    def test_a_term_that_is_used_nowhere_is_found(self):
        self.assertEqual(['"contender" is used nowhere else'], self.found('| contender | a contender | |\n'))

    def test_a_term_is_defined_once_and_has_a_meaning(self):
        self.assertEqual(['"Lease" is in line 9 already'], self.found('| lease | a | |\n| Lease | b | |\n'))
        self.assertEqual(['"lease" has no meaning'], self.found('| lease | | |\n'))

    def test_a_synonym_is_found_also_in_the_plural_but_in_its_column(self):
        self.assertEqual(['"Ledgers": the glossary\'s term is "lease"'],
                         self.found('| lease | a hold | ledger |\n', 'Ledgers of a lease.'))
        self.assertEqual(['"ledger": the glossary\'s term is "lease"'],
                         self.found('| lease | a ledger | ledger |\n'))

    def test_there_has_to_be_one(self):
        self.assertEqual(1, len(glossary.read([page('# x\n', glossary.PAGE)])[1]))


class Links(unittest.TestCase):
    def found(self, content, names=('docs/page.md', 'docs/other.md', 'README.md', 'src/a/b.cc')):
        other = page('# The page\n\n## What it `is`\n\n## Twice\n\n## Twice\n\n<a id="here"></a>\n', 'docs/other.md')
        return [(line, text) for _, line, text in links.check([page(content), other], set(names))]

    def test_links_that_resolve_are_in_order(self):
        self.assertEqual([], self.found(
            '# Own\n\n[a](other.md) [b](other.md#what-it-is) [c](#own) [d](../README.md) [e](other.md#twice-1)\n'
            '[f](https://example.org/x#y) [g](../src/a) [h](other.md#here) `[i](nowhere.md)`\n\n[j]: ../src/a/b.cc\n'))

    def test_files_and_headings_that_there_are_not_are_found(self):
        self.assertEqual([(2, 'nowhere.md: there is no such file')], self.found('[a](other.md)\n[b](nowhere.md)\n'))
        self.assertEqual([(1, 'other.md#is: the page has no such heading')], self.found('[a](other.md#is)\n'))
        self.assertEqual([(1, '#own: the page has no such heading')], self.found('[a](#own)\n'))
        self.assertEqual([(1, 'x.md: there is no such file')], self.found('[a]: x.md\n'))

    def test_what_is_installed_follows_the_packaging(self):
        names = ['docs/page.md', 'docs/ci/README.md', 'README.md', 'packaging/x.yaml']
        doc = '"${CMAKE_INSTALL_DOCDIR}'
        self.assertEqual({'README.md': 'README.md', 'docs/page.md': 'docs/page.md',
                          'docs/ci/README.md': 'docs/ci/README.md', 'packaging/x.yaml': 'examples/x.yaml'},
                         links.installed('install(DIRECTORY "${CMAKE_SOURCE_DIR}/docs" DESTINATION %s" X)\n'
                                         'install(FILES "${CMAKE_SOURCE_DIR}/README.md"\n  DESTINATION %s")\n'
                                         'install(FILES x.yaml DESTINATION %s/examples")\n' % (doc, doc, doc), names))
        self.assertEqual({'docs/page.md': 'page.md', 'docs/ci/README.md': 'ci/README.md'},
                         links.installed('install(DIRECTORY "${CMAKE_SOURCE_DIR}/docs/" DESTINATION %s")' % doc, names))

    def test_a_page_links_to_what_is_installed(self):
        file = page('[a](../README.md)\n')
        places = {'docs/page.md': 'page.md', 'README.md': 'README.md'}
        self.assertEqual(1, len(links.check([file], set(places.values()), places.get)))
        places['docs/page.md'] = 'docs/page.md'
        self.assertEqual([], links.check([file], set(places.values()), places.get))


class Names(unittest.TestCase):
    def found(self, content, path='docs/architecture.md'):
        return [(finding.line, finding.text.split(':')[0])
                for finding in names.check([page(content, path)], {'PoolWorker', 'pool_worker', 'h'})]

    def test_a_name_of_code_that_the_tree_does_not_have_is_found(self):
        self.assertEqual([(1, 'PoolWorkers'), (2, 'look_at')], self.found('`PoolWorkers`\n`look_at()`\n'))

    def test_names_that_there_are_and_other_words_pass(self):
        self.assertEqual([], self.found('`PoolWorker` in `pool_worker.h`, `--help`, PoolWorkers\n'))
        self.assertEqual([], self.found('`StateMachine`\n', 'docs/migrating.md'))


class TypeNames(unittest.TestCase):
    HEADERS = [source('class Tree {\nstruct Log {\n', 'src/a/a.h'),
               source('\nenum class Tree { a };\nclass B {\n  struct Log {\n', 'src/b/b.h'),
               source('class Tree {\n', 'src/b/b.cc')]

    def test_a_second_type_with_the_same_name_is_found(self):
        found = type_names.check(set(), self.HEADERS)
        self.assertEqual([('src/b/b.h', 2)], [(finding.path, finding.line) for finding in found])
        self.assertIn('Tree: src/a/a.h declares it too', found[0].text)

    def test_a_listed_one_passes(self):
        self.assertEqual([], type_names.check(type_names.parse('# why\nTree: a tree\n'), self.HEADERS))


class Tree(unittest.TestCase):
    def test_all_rules_are_for_the_pages_of_the_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, content in {unused.RULES: '[prose in **]\nnobody => name it\n', links.PACKAGING: '', type_names.LISTED: '',
                                  glossary.PAGE: TABLE.format('A lease.', '| lease | a hold | |\n'),
                                  'README.md': 'For\nnobody: [x](x.md).\n', 'other.md': 'Nobody.\n'}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            subprocess.run(['git', 'init', '-q', root], check=True)
            found = [(finding.path, finding.line, finding.rule) for finding in tree.check(root)]
        self.assertEqual([('README.md', 2, 'link'), ('README.md', 2, 'word')], found)


if __name__ == '__main__':
    unittest.main()
