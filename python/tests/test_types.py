"""Type stubs: users' code against them, and they against what is there when the package runs."""

import ast
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import meanwhile
from meanwhile import _native

TYPED = pathlib.Path(__file__).resolve().parent / 'typed'
PACKAGE = pathlib.Path(meanwhile.__file__).parent
STUB = ast.parse((PACKAGE / '_native.pyi').read_text(encoding='utf-8'))


def run_tool(*command, cwd):
    environment = dict(os.environ)
    if 'site-packages' not in PACKAGE.parts:  # a tree, where nothing is installed
        environment['MYPYPATH'] = os.fspath(PACKAGE.parent)
    ran = subprocess.run(
        [sys.executable, '-P', '-m', *map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_code_of_users_has_the_types_that_stubs_say(tmp_path):
    run_tool('mypy', '--strict', '--cache-dir', tmp_path / 'cache', TYPED / 'use.py', cwd=tmp_path)


def test_mistakes_are_found(tmp_path):
    """``--strict`` has ``--warn-unused-ignores``: each line must be a mistake."""
    run_tool('mypy', '--strict', '--cache-dir', tmp_path / 'cache', TYPED / 'mistakes.py', cwd=tmp_path)


@pytest.mark.filterwarnings('ignore::sklearn.exceptions.ConvergenceWarning')
def test_that_code_runs(tmp_path):
    spec = importlib.util.spec_from_file_location('use', TYPED / 'use.py')
    use = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(use)
    use.main(tmp_path)


def test_stubs_are_those_of_the_modules(tmp_path):
    run_tool('mypy.stubtest', '--concise', '--allowlist', TYPED / 'allowed.txt', 'meanwhile', cwd=tmp_path)


def test_the_list_of_names_is_that_of_the_stub():
    stub = ast.parse((PACKAGE / '__init__.pyi').read_text(encoding='utf-8'))
    imported = {name.asname for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert imported == set(meanwhile.__all__) == set(meanwhile._PLACES)


def signature_of(function, defaults=None):
    """Names in order, those of keywords alone, and defaults of a function's syntax tree."""
    arguments = function.args
    given = [*arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)]
    if defaults is None:
        defaults = [ast.literal_eval(one) for one in given]
    assert len(defaults) == len(given)
    names = [one.arg for one in arguments.args]
    keywords = [one.arg for one in arguments.kwonlyargs]
    return names, keywords, [list(one) if isinstance(one, tuple) else one for one in defaults]


def native_signature(function):
    ((text, _, defaults),) = function.__nb_signature__
    while '[' in text:  # types have brackets, and not all of them are Python's
        text = re.sub(r'\[[^][]*\]', '', text)
    text = re.sub(r'\\\d+', 'None', text)
    return signature_of(ast.parse(f'{text}: ...').body[0], defaults or ())


def functions_of_the_stub():
    found = []
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            found.append(pytest.param(node, getattr(_native, node.name), id=node.name))
        elif isinstance(node, ast.ClassDef) and hasattr(_native, node.name):
            for one in node.body:
                value = getattr(getattr(_native, node.name), one.name) if isinstance(one, ast.FunctionDef) else None
                if callable(value):
                    found.append(pytest.param(one, value, id=f'{node.name}.{one.name}'))
    return found


@pytest.mark.parametrize(('stub', 'function'), functions_of_the_stub())
def test_signature_of_the_compiled_module(stub, function):
    assert native_signature(function) == signature_of(stub)


def test_compiled_classes_have_the_members_of_the_stub():
    for node in STUB.body:
        if isinstance(node, ast.ClassDef) and node.name in ('Rows', 'Model', 'Result'):
            stub = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            assert stub == {name for name in vars(getattr(_native, node.name)) if not name.startswith('_')}
    names = {node.name for node in STUB.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert names - {'Learner', 'Parameter'} == {name for name in vars(_native) if not name.startswith('_')}


@pytest.mark.filterwarnings('ignore::sklearn.exceptions.ConvergenceWarning')
@pytest.mark.parametrize('name', [name for name, place in meanwhile._PLACES.items() if not place.startswith('_')])
def test_stubs_have_every_attribute_that_fit_sets(name):
    x = np.random.default_rng(0).random((40, 3))
    fitted = getattr(meanwhile, name)().fit(x, (x[:, 0] > 0.5).astype(int))
    declared = set()
    for path in PACKAGE.glob('*.pyi'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.ClassDef) and node.name in {one.__name__ for one in type(fitted).__mro__}:
                declared |= {one.target.id for one in node.body if isinstance(one, ast.AnnAssign)}
                declared |= {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    assert {one for one in dir(fitted) if not one.startswith('_')} <= declared
