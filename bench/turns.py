"""Measures launchers in turns, so that other load on the machine affects all of them."""
import argparse
import json
import os
import pathlib
import statistics
import time

from installation import OwnLauncher, PythonLauncher

KINDS = {'ours': OwnLauncher, 'Python': PythonLauncher}


def arguments(description):
    """The parser of the options common to these programs."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument('--rounds', type=int, default=3, help='number of measurements of each launcher')
    parser.add_argument('--only', choices=sorted(KINDS), help='measure only one kind of launcher')
    parser.add_argument('--scenario', action='append', help='measure only this scenario; repeatable')
    parser.add_argument('--json', type=pathlib.Path, help='file of results to update')
    return parser


class Run:
    """The results of one run of a program, and the load of the machine."""

    def __init__(self, parser, scenarios):
        self.options = parser.parse_args()
        if self.options.only and self.options.json:
            parser.error('--json needs both kinds')
        self.scenarios = self.options.scenario or list(scenarios)
        if unknown := set(self.scenarios) - set(scenarios):
            parser.error(f'unknown scenario: {", ".join(sorted(unknown))}; known: {", ".join(scenarios)}')
        self.kinds = [self.options.only] if self.options.only else list(KINDS)
        self.begun = stolen()
        self.result = {'when': time.strftime('%Y-%m-%d'), 'processors': os.cpu_count(), 'rounds': self.options.rounds,
                       'load average before': round(os.getloadavg()[0], 2), 'scenarios': {}}

    def measure(self, name, measure):
        """The results of a scenario; `measure` returns those of one turn of a kind."""
        results = {kind: [] for kind in self.kinds}
        for _ in range(self.options.rounds):
            for kind in self.kinds:
                results[kind].append(measure(kind))
        figures = self.result['scenarios'][name] = summary(results)
        show(name, figures)

    def end(self):
        ended = stolen()
        self.result['stolen %'] = round((ended[0] - self.begun[0]) * 100 / (ended[1] - self.begun[1]), 1)
        print(f'stolen: {self.result["stolen %"]} %')
        if self.options.json:
            store(self.options.json, self.result)


def store(path, run):
    """Adds a run to those in a file, in place of their results of the same scenarios."""
    runs = json.loads(path.read_text()) if path.exists() else []
    for earlier in runs:
        for floor in [key for key in run if key.startswith('floor')]:
            earlier.pop(floor, None)
        earlier['scenarios'] = {name: found for name, found in earlier['scenarios'].items() if name not in run['scenarios']}
    path.write_text(json.dumps([each for each in runs if each['scenarios']] + [run], indent=1) + '\n')


def summary(rounds):
    """Median, minimum and maximum of the results of each kind."""
    return {kind: {name: [round(pick(round_[name] for round_ in turns), 4)
                          for pick in (statistics.median, min, max)]
                   for name in turns[0]}
            for kind, turns in rounds.items()}


def show(name, figures):
    print(f'\n{name}')
    print(f'{"":28}' + ''.join(f'{kind:>12}{"least":>10}{"most":>10}' for kind in figures))
    for figure in next(iter(figures.values())):
        print(f'{figure:28}' + ''.join(f'{middle:12.4g}{least:10.4g}{most:10.4g}'
                                       for middle, least, most in (kind[figure] for kind in figures.values())), flush=True)


def stolen():
    """Stolen time (given to other virtual machines) and total time of all processors."""
    fields = [int(field) for field in pathlib.Path('/proc/stat').read_text().split('\n', 1)[0].split()[1:9]]
    return fields[7], sum(fields)
