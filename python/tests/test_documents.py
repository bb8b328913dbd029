"""Examples of the documentation, run."""

import doctest
import importlib
import os
import pathlib

import pytest

import meanwhile

TREE = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.filterwarnings('ignore::sklearn.exceptions.ConvergenceWarning')
@pytest.mark.parametrize('name', ['cluster', 'linear_model', 'decomposition'])
def test_docstrings(name):
    parts = {'linear_model': ['_classifiers', '_regressors', '_huber']}.get(name, [name])
    all_results = [doctest.testmod(importlib.import_module(f'meanwhile.{part}')) for part in parts]
    assert sum(results.failed for results in all_results) == 0
    attempted = sum(results.attempted for results in all_results)
    classes = [one for one, place in meanwhile._PLACES.items() if place == name]
    assert attempted >= 2 * len(classes), 'a class has no example'


@pytest.mark.filterwarnings('ignore')
def test_notebook(tmp_path):
    import nbclient
    import nbformat

    path = TREE / 'examples' / 'python.ipynb'
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=60, resources={'metadata': {'path': os.fspath(tmp_path)}}).execute()
    assert any('meanwhile-card' in str(out) for cell in book.cells for out in cell.get('outputs', []))


def test_table_of_translations_names_every_parameter():
    text = (TREE / 'doc' / 'python.md').read_text(encoding='utf-8')
    for name in ('KMeans', 'LinearSVC', 'LogisticRegression', 'Ridge', 'Lasso', 'ElasticNet', 'HuberRegressor', 'LatentDirichletAllocation'):
        begin = text.index(f'### {name}')
        part = text[begin : text.find('\n### ', begin + 4)]
        rest = text[text.index('### All estimators') :] if '### All estimators' in text else ''
        for parameter in getattr(meanwhile, name)().get_params():
            assert f'`{parameter}`' in part or f'`{parameter}`' in rest, (name, parameter)
