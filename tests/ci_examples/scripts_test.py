"""What all examples have to be, whatever runs them."""
import pathlib
import re
import subprocess

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / 'docs/ci'


def is_shell_script(file):
    text = file.read_text()
    return text.startswith('#!/bin/sh\n') or '\n# shellcheck shell=sh' in text


def shell_scripts():
    return [file for file in sorted(EXAMPLES.rglob('*')) if file.is_file() and is_shell_script(file)]


@pytest.mark.smoke
def test_shellcheck_finds_nothing():
    scripts = shell_scripts()
    assert len(scripts) >= 6, scripts
    done = subprocess.run(['shellcheck', '-x', '-P', 'SCRIPTDIR', *scripts], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.smoke
def test_pages_lead_somewhere():
    for page in EXAMPLES.rglob('*.md'):
        for link in re.findall(r'\]\(([^)#]+)', page.read_text()):
            assert link.startswith('https://') or (page.parent / link).exists(), f'{page}: {link}'
