"""Schemathesis generates calls from the API's own description, and validates the answers against it."""
import pathlib
import subprocess
import sys

CONFIG = pathlib.Path(__file__).with_name('schemathesis.toml')


def test_the_api_does_what_its_description_says(site):
    launcher = site.launch(api={'anonymous-read': True})
    site.add_token('prober', scope='admin', rate=100000)
    command = [sys.executable, '-m', 'schemathesis.cli', '--config-file', CONFIG, 'run',
               f'http://127.0.0.1:{launcher.port}/api/v1/openapi.json',
               '--header', f"Authorization: Bearer {site.tokens['prober']}", '--max-examples', '60', '--seed', '1',
               '--checks', 'not_a_server_error,status_code_conformance,content_type_conformance,'
               'response_schema_conformance,negative_data_rejection,unsupported_method', '--no-color']
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=site.directory)
    assert done.returncode == 0, done.stdout + done.stderr
    assert launcher.process.poll() is None
