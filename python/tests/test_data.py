"""Rows of every kind of array and table: borrowed, copied or refused, never misread."""

import itertools
import pathlib

import numpy as np
import pytest
import scipy.sparse

import meanwhile
from meanwhile import _data, _native

DTYPES = ['f4', 'f8', 'f2', '>f4', '>f8', 'i1', 'u1', 'i4', 'i8', 'u8', '>i4', 'b1', 'longdouble', 'O', 'c8', 'U3', 'S3', 'M8[s]']
REFUSED = {'c8', 'U3', 'S3', 'M8[s]'}
SHAPES = [(0, 3), (3, 0), (1, 1), (1, 4), (5, 1), (7, 4)]


def layouts(matrix):
    """The same values in every layout that numpy has views for."""
    rows, cols = matrix.shape
    wide = np.zeros((2 * rows, 3 * cols), matrix.dtype)
    wide[::2, ::3] = matrix
    unaligned = np.frombuffer(bytearray(matrix.nbytes + 1), np.uint8)[1:].view(matrix.dtype) if matrix.dtype != 'O' else None
    frozen = matrix.copy()
    frozen.flags.writeable = False
    yield 'C', matrix.copy(order='C')
    yield 'Fortran', matrix.copy(order='F')
    yield 'steps', wide[::2, ::3]
    yield 'negative', matrix[::-1, ::-1].copy()[::-1, ::-1]
    yield 'columns of more', np.hstack([matrix, matrix])[:, :cols]
    yield 'read-only', frozen
    yield 'transposed twice', matrix.copy().T.copy().T
    yield 'subclass', np.matrix(matrix) if matrix.size else matrix
    if unaligned is not None:
        unaligned = unaligned.reshape(matrix.shape)
        unaligned[...] = matrix
        yield 'unaligned', unaligned
    if rows > 1:
        yield 'one row repeated', np.broadcast_to(matrix[:1], matrix.shape)


def values_of(rows):
    """The values as the library reads them, through a model that returns them."""
    return rows.sha256()


@pytest.mark.parametrize('dtype', DTYPES)
def test_every_layout(dtype):
    for shape in SHAPES:
        numbers = np.arange(np.prod(shape)).reshape(shape) % 2
        matrix = numbers.astype(dtype)
        for name, array in layouts(matrix):
            if dtype in REFUSED:
                with pytest.raises(meanwhile.InputError, match='expected numbers|complex'):
                    _data.rows(array)
                continue
            rows = _data.rows(array)
            wide = np.dtype(dtype).kind != 'f' or np.dtype(dtype).itemsize > 4
            expected = np.array(array, np.float64 if wide else np.float32, order='C', subok=False)
            assert rows.shape == shape, name
            assert rows.dtype == expected.dtype.name, name
            assert rows.sha256() == _native.Rows.dense(expected).sha256(), name
            fits = array.flags.c_contiguous and array.flags.aligned and array.dtype in (np.float32, np.float64)
            if fits and array.dtype.isnative and array.size:
                assert rows.address == array.__array_interface__['data'][0], name


def test_borrowed_matrix_reaches_the_learner():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        matrix = rng.normal(size=(300, 5)).astype(dtype)
        result = _native.train('kmeans', _data.rows(matrix), {'n_clusters': 3, 'max_iter': 2}, deal='blocks')
        assert result.address == matrix.ctypes.data


def test_borrowed_sparse_values():
    for dtype, index in itertools.product((np.float32, np.float64), (np.int32, np.int64)):
        matrix = scipy.sparse.random(50, 30, 0.1, 'csr', dtype=dtype, rng=np.random.default_rng(1))
        matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
        rows = _data.rows(matrix)
        assert rows.is_sparse and rows.stored == matrix.nnz
        assert rows.address == matrix.data.ctypes.data
        assert rows.sha256() == _data.rows(scipy.sparse.csr_array(matrix)).sha256()


@pytest.mark.parametrize('form', ['csc', 'coo', 'lil', 'dok', 'bsr', 'dia'])
def test_other_sparse_formats(form):
    matrix = scipy.sparse.random(20, 10, 0.3, 'csr', rng=np.random.default_rng(2))
    assert _data.rows(matrix.asformat(form)).sha256() == _data.rows(matrix).sha256()


def test_sparse_in_disorder_is_put_in_order():
    values, columns, starts = np.array([1.0, 2, 3]), np.array([2, 0, 0]), np.array([0, 3])
    matrix = scipy.sparse.csr_matrix((values, columns, starts), shape=(1, 3))
    before = matrix.indices.copy()
    assert _data.rows(matrix).sha256() == _data.rows(scipy.sparse.csr_matrix([[5.0, 0, 1]])).sha256()
    assert (matrix.indices == before).all()


def test_sparse_that_lies_is_refused():
    ones = np.ones(2)
    for columns, starts, words in (
        ([0, 3], [0, 2], 'column 3 of 3'),
        ([0, -1], [0, 2], 'column -1'),
        ([1, 1], [0, 2], 'must rise'),
        ([0, 1], [0, 3], 'not those of one matrix'),
        ([0, 1], [0, 5, 2], 'row_start goes'),
        ([0, 1], [1, 2], 'not those of one matrix'),
    ):
        with pytest.raises(meanwhile.Error, match=words):
            _native.Rows.sparse(np.array(starts), np.array(columns), ones, 3)


def test_columns_beyond_32_bits_are_refused_by_name():
    with pytest.raises(meanwhile.InputError, match=r'columns\[1\] is 4294967296'):
        _native.Rows.sparse(np.array([0, 2]), np.array([0, 2**32]), np.ones(2), 3)


def test_position_of_bad_values():
    matrix = np.ones((4, 3))
    matrix[2, 1] = np.nan
    with pytest.raises(meanwhile.InputError, match='row 2, column 1'):
        _native.train('kmeans', _data.rows(matrix), {'n_clusters': 1})
    with pytest.raises(meanwhile.InputError, match=r'weights\[1\] is -1'):
        _native.train('kmeans', _data.rows(np.ones((2, 1)), weights=[1, -1]), {'n_clusters': 1})


def test_shapes_that_do_not_fit():
    with pytest.raises(meanwhile.UsageError, match='reshape'):
        _data.rows(np.ones(3))
    with pytest.raises(meanwhile.UsageError, match='labels: 2 values for 3 rows'):
        _data.rows(np.ones((3, 1)), labels=[0, 1])
    with pytest.raises(meanwhile.UsageError, match='feature_names: 1 names for 2 columns'):
        _data.rows(np.ones((3, 2)), feature_names=['a'])
    with pytest.raises(meanwhile.InputError, match='has no rows'):
        _native.train('kmeans', _data.rows(np.ones((0, 2))), {'n_clusters': 1})


def test_memory_outlives_the_callers_name():
    matrix = np.arange(4000.0).reshape(1000, 4)
    hash_before = _data.rows(matrix.copy()).sha256()
    rows = _data.rows(matrix.copy())
    for _ in range(20):
        np.full((1000, 4), 7.0)
    assert rows.sha256() == hash_before


def frames():
    numbers = {'a': np.arange(5, dtype='f4'), 'b': np.arange(5, dtype='f4') * 2}
    pandas = pytest.importorskip('pandas')
    polars = pytest.importorskip('polars')
    pyarrow = pytest.importorskip('pyarrow')
    table = pyarrow.table(numbers)
    yield pandas.DataFrame(numbers, index=[9, 8, 7, 6, 5])
    yield polars.DataFrame(numbers)
    yield table
    yield pyarrow.concat_tables([table.slice(0, 2), table.slice(2, 3)])
    yield table.slice(0, 5).to_batches()[0]


def test_tables():
    expected = np.array([np.arange(5), np.arange(5) * 2], 'f4').T.copy()
    for frame in frames():
        rows = _data.rows(frame)
        assert rows.feature_names == ['a', 'b'], type(frame)
        assert rows.sha256() == _data.rows(expected).sha256(), type(frame)
        assert _data.rows(frame, dtype=np.float64).dtype == 'float64'


def test_columns_of_every_arrow_type():
    pyarrow = pytest.importorskip('pyarrow')
    for name in ('bool_', 'int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64', 'float16', 'float32', 'float64'):
        kind = getattr(pyarrow, name)()
        values = np.array([0, 1, 1, 0, 1])
        column = pyarrow.array(values.astype('f2') if name == 'float16' else values.tolist()).cast(kind)
        table = pyarrow.table({'x': column, 'y': pyarrow.array([0.5] * 5)}).slice(1, 3)
        rows = _data.rows(table)
        assert rows.sha256() == _data.rows(np.array([[1, 0.5], [1, 0.5], [0, 0.5]])).sha256(), name


def test_half_floats():
    pyarrow = pytest.importorskip('pyarrow')
    values = np.array([0, -0.0, 1, -2.5, 6e-8, 65504, 6.1e-5], 'f2')
    rows = _data.rows(pyarrow.table({'x': pyarrow.array(values)}))
    assert rows.sha256() == _data.rows(values.astype('f4').reshape(-1, 1)).sha256()


def test_tables_that_cannot_be():
    pyarrow = pytest.importorskip('pyarrow')
    with pytest.raises(meanwhile.InputError, match="row 1, column 'y'"):
        _data.rows(pyarrow.table({'x': [1.0, 2], 'y': [3.0, None]}))
    for bad in (['a', 'b'], pyarrow.array(['a', 'b']).dictionary_encode()):
        with pytest.raises(meanwhile.InputError, match="column 'x' .*holds no numbers"):
            _data.rows(pyarrow.table({'x': bad}))


def test_stream_is_read_once():
    pyarrow = pytest.importorskip('pyarrow')
    capsule = pyarrow.table({'x': [1.0]}).__arrow_c_stream__()
    _native.Rows.arrow(capsule)
    with pytest.raises(meanwhile.UsageError, match='read before'):
        _native.Rows.arrow(capsule)


def test_spark_is_refused():
    frame = type('DataFrame', (), {'__module__': 'pyspark.sql.dataframe', '__arrow_c_stream__': None})()
    with pytest.raises(meanwhile.UsageError, match='Parquet'):
        _data.rows(frame)


def test_missing_libraries_are_not_skipped():
    # importorskip above is for a user's environment; the project's own must have them all.
    if pathlib.Path(meanwhile.__file__).is_relative_to(pathlib.Path.cwd()):
        for name in ('pandas', 'polars', 'pyarrow'):
            __import__(name)
