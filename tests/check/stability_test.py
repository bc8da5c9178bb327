"""The lists of stable names: what is refused, what asks for an update, and where the names come from."""
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools/stability'))

import declared  # noqa: E402
import lists  # noqa: E402
import openapi  # noqa: E402

NAMES = {'configuration': {'labels[].name: string', 'labels[].name: integer'},
         'commands': {'nodepool list', 'nodepool list --watch: without a value'},
         'metrics': {'nodepool_nodes: gauge', 'nodepool_nodes: label state'}}


def without(kind, name, *more):
    return {**NAMES, kind: NAMES[kind] - {name} | set(more)}


class Lists(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.assertEqual(lists.update(self.folder, NAMES, may_remove=False), [])

    def is_refused(self, names, gone):
        """Whether the check and an update without --remove name what is gone, and the policy."""
        before = lists.read(self.folder)
        for problems in (lists.check(self.folder, names), lists.update(self.folder, names, may_remove=False)):
            self.assertIn(gone, problems)
            self.assertIn(lists.GONE, problems)
        self.assertEqual(lists.read(self.folder), before)

    def test_nothing_is_wrong_without_a_change(self):
        self.assertEqual(lists.check(self.folder, NAMES), [])

    def test_a_removed_key_is_refused(self):
        self.is_refused({**NAMES, 'configuration': set()}, 'tests/stability/configuration.txt: gone: labels[].name: string')

    def test_a_type_that_a_key_no_longer_accepts_is_refused(self):
        self.is_refused(without('configuration', 'labels[].name: integer'),
                        'tests/stability/configuration.txt: gone: labels[].name: integer')

    def test_an_option_that_is_gone_is_refused(self):
        option = 'nodepool list --watch: without a value'
        self.is_refused(without('commands', option), f'tests/stability/commands.txt: gone: {option}')

    def test_a_renamed_metric_is_refused(self):
        self.is_refused(without('metrics', 'nodepool_nodes: gauge', 'nodepool_machines: gauge'),
                        'tests/stability/metrics.txt: gone: nodepool_nodes: gauge')

    def test_a_list_that_is_gone_is_refused(self):
        self.is_refused({kind: names for kind, names in NAMES.items() if kind != 'metrics'},
                        'tests/stability/metrics.txt: gone: nodepool_nodes: gauge')

    def test_a_new_name_asks_for_the_update_that_adds_it(self):
        names = {**NAMES, 'paths': {'/ready'}}
        self.assertEqual(lists.check(self.folder, names), ['tests/stability/paths.txt: new: /ready', lists.NEW])
        self.assertEqual(lists.update(self.folder, names, may_remove=False), [])
        self.assertEqual(lists.read(self.folder), names)

    def test_a_name_is_removed_only_on_request(self):
        names = without('metrics', 'nodepool_nodes: label state')
        self.assertEqual(lists.update(self.folder, names, may_remove=True), [])
        self.assertEqual(lists.read(self.folder), names)


class Api(unittest.TestCase):
    DOCUMENT = {
        'paths': {'/a/{id}': {'post': {
            'parameters': [{'$ref': '#/components/parameters/id'}, {'name': 'wait', 'in': 'query'}],
            'requestBody': {'content': {'application/json': {'schema': {'$ref': '#/components/schemas/Order'}}}},
            'responses': {'200': {'content': {'application/json': {'schema': {'$ref': '#/components/schemas/Lease'}}}},
                          '404': {'$ref': '#/components/responses/Problem'}}}}},
        'components': {
            'parameters': {'id': {'name': 'id', 'in': 'path'}},
            'responses': {'Problem': {'content': {'application/problem+json': {'schema': {'type': 'object'}}}}},
            'schemas': {
                'Order': {'type': 'object', 'required': ['label'],
                          'properties': {'label': {'type': 'string'}, 'length': {'type': ['integer', 'null']}}},
                'Lease': {'type': 'object', 'required': ['state'], 'properties': {
                    'state': {'type': 'string', 'enum': ['ready']},
                    'nodes': {'type': 'array', 'items': {'$ref': '#/components/schemas/Order'}}}}}}}

    def names_without(self, *path):
        document = json.loads(json.dumps(self.DOCUMENT))
        part = document
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]
        return openapi.names(document)

    def test_calls_have_parameters_bodies_and_responses(self):
        self.assertLessEqual({'POST /a/{id}', 'POST /a/{id}: path id', 'POST /a/{id}: query wait',
                              'POST /a/{id}: body application/json Order', 'POST /a/{id}: 200 application/json: Lease',
                              'POST /a/{id}: 404 application/problem+json: object'}, openapi.names(self.DOCUMENT))

    def test_members_have_types_and_words(self):
        self.assertLessEqual({'Lease.state: "ready"', 'Lease.nodes[]: Order', 'Order.length: integer', 'Order.length: null'},
                             openapi.names(self.DOCUMENT))

    def test_a_response_loses_what_is_no_longer_certain(self):
        gone = openapi.names(self.DOCUMENT) - self.names_without('components', 'schemas', 'Lease', 'required')
        self.assertEqual(gone, {'Lease.state: required'})

    def test_a_request_loses_what_may_no_longer_be_omitted(self):
        document = json.loads(json.dumps(self.DOCUMENT))
        document['components']['schemas']['Order']['required'].append('length')
        self.assertEqual(openapi.names(self.DOCUMENT) - openapi.names(document), {'Order.length: optional'})


class Declared(unittest.TestCase):
    def test_exit_statuses_without_a_command_belong_to_the_one_above(self):
        rows = [['all', '0', 'success'], ['`run`', 'any', 'its own'], ['', '126, 127', 'none']]
        self.assertEqual(declared.statuses(rows), {'all: 0', 'run: any', 'run: 126', 'run: 127'})

    def test_paths_have_their_parameters(self):
        self.assertEqual(declared.paths([['`/a`, `/b`', 'x; `?id=ID`: one'], ['`/`', '`/x` too']]), {'/a', '/a?id', '/b', '/'})

    def test_the_tables_of_the_manual_are_there(self):
        self.assertIn('all: 0', declared.statuses(declared.table_of(ROOT, *declared.STATUSES)))
        self.assertIn('/node-list', declared.paths(declared.table_of(ROOT, *declared.PATHS)))
        self.assertRaises(ValueError, declared.table_of, ROOT, 'docs/web.md', '| No | Such |')

    def test_programs_of_the_builder_have_variables_and_arguments(self):
        self.assertEqual(declared.programs([['`A`, `B`', 'as for `C`']], 'run as `share-image PROVIDER FILE`.'),
                         {'build command: $A', 'build command: $B', 'post-upload-hook: PROVIDER FILE'})
        listed = lists.read(ROOT / lists.FOLDER)['programs']
        self.assertEqual(declared.programs(declared.table_of(ROOT, *declared.VARIABLES), (ROOT / declared.IMAGES).read_text()),
                         listed)

    def test_each_kind_has_a_list_without_repetition_in_order(self):
        kinds = {*declared.KINDS, 'api', 'exit-statuses', 'paths', 'programs'}
        paths = list((ROOT / lists.FOLDER).glob('*.txt'))
        self.assertEqual({path.stem for path in paths}, kinds)
        for path in paths:
            names = path.read_text().splitlines()
            self.assertEqual(names, sorted(set(names)), path)


if __name__ == '__main__':
    unittest.main()
