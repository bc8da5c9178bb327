"""run_service.py NAME MODULE:FUNCTION [ARGUMENTS]: runs a service from its module."""
import importlib
import pathlib
import sys

name, target = sys.argv[1:3]
sys.argv = [name, *sys.argv[3:]]
module, function = target.split(':')
loaded = importlib.import_module(module)
if name.startswith('nova-compute'):
    # nova takes its hypervisor from no other package than this.
    import nova.virt
    nova.virt.__path__.append(str(pathlib.Path(__file__).resolve().parent / 'fakecloud'))
sys.exit(getattr(loaded, function)())
