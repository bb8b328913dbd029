"""Rows of whatever a user has: one function, :func:`rows`.

A matrix of numpy in C order with float32 or float64 is borrowed, and so are the values of a CSR matrix
of scipy. All else is copied once, or refused with what to do instead.
"""

import numpy as np

from . import _native

_REFUSED = {
    'O': 'objects',
    'U': 'words',
    'S': 'bytes',
    'T': 'words',
    'M': 'dates',
    'm': 'durations',
    'V': 'records',
}


def rows(x, labels=None, weights=None, *, class_names=(), feature_names=(), dtype=None, name='X', threads=0):
    """``x`` as rows of the library.

    :param x: a matrix of numpy or what converts to one, a sparse matrix of scipy, or a table of pandas,
        polars, pyarrow or any other library that has ``__arrow_c_stream__``.
    :param labels: a number for each row, or None.
    :param weights: a weight for each row, or None.
    :param class_names: the words that labels are indices into.
    :param feature_names: names of the columns; of tables those they have.
    :param dtype: numpy.float32 or numpy.float64; None: that of ``x``, and float64 for whole numbers.
    :param name: the matrix in messages.
    :param threads: threads that gather a table into rows; 0: all there are.

    >>> import numpy as np
    >>> matrix = np.ones((3, 2), np.float32)
    >>> rows(matrix).address == matrix.ctypes.data
    True
    >>> rows([[1, 2], [3, 4]]).dtype
    'float64'
    """
    if isinstance(x, _native.Rows):
        return x
    dtype = None if dtype is None else np.dtype(dtype)
    if dtype is not None and dtype not in (np.float32, np.float64):
        raise _native.UsageError(f'dtype: expected float32 or float64, found {dtype}')
    more = {
        'labels': _column(labels, 'labels'),
        'weights': _column(weights, 'weights'),
        'class_names': [str(each) for each in class_names],
    }
    names = [str(each) for each in feature_names]
    module = type(x).__module__.partition('.')[0]
    if module == 'pyspark':
        raise _native.UsageError(
            f'{name}: a DataFrame of Spark would be brought to this one process; write it as Parquet and '
            f"train with 'meanwhile train', or collect what fits by toPandas()"
        )
    if hasattr(x, 'tocsr'):
        return _sparse(x, dtype, name, names, more)
    if hasattr(x, '__arrow_c_stream__') and not isinstance(x, np.ndarray):
        table = _table(x, dtype, module, more, threads)
        if table is not None:
            return table
        names = names or [str(each) for each in x.columns]
        x = x.to_numpy()
    return _native.Rows.dense(_matrix(x, dtype, name), feature_names=names, **more)


def _column(values, name):
    """One number for each row, as float64 without gaps."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.ndim != 1:
        raise _native.UsageError(f'{name}: expected one number for each row, found shape {array.shape}')
    return _numbers(array, np.dtype(np.float64), name)


def _numbers(array, dtype, name):
    """C order, aligned, native bytes, float32 or float64: the array itself where it is that."""
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array):
            place = tuple(int(each) for each in np.argwhere(np.ma.getmaskarray(array))[0])
            raise _native.InputError(f'{name}: the value at {place} is masked; fill it in or leave its row out')
        array = array.data
    kind = array.dtype.kind
    if kind == 'c':
        raise _native.InputError(f'{name}: complex numbers are not supported')
    if dtype is None:
        narrow = kind == 'f' and array.dtype.itemsize <= 4
        dtype = np.dtype(np.float32 if narrow else np.float64)
    if kind in _REFUSED:
        try:
            array = array.astype(dtype) if kind == 'O' else None
        except (TypeError, ValueError):
            array = None
        if array is None:
            raise _native.InputError(f'{name}: expected numbers, found {_REFUSED[kind]}; encode them as numbers')
    return np.require(array, dtype=dtype.newbyteorder('='), requirements=['C', 'A'])


def _matrix(x, dtype, name):
    array = x if isinstance(x, np.ndarray) else np.asarray(x)
    if array.ndim != 2:
        raise _native.UsageError(
            f'{name}: expected a matrix, found shape {array.shape}; one column is array.reshape(-1, 1), one row '
            f'array.reshape(1, -1)'
        )
    array = _numbers(array, dtype, name)
    return array.view(np.ndarray) if type(array) is not np.ndarray else array


def _sparse(x, dtype, name, names, more):
    csr = x.tocsr()
    if csr.ndim != 2:
        raise _native.UsageError(f'{name}: expected a matrix, found shape {csr.shape}')
    if not csr.has_canonical_format:  # columns of a row do not rise, or occur twice
        csr = csr.copy()
        csr.sum_duplicates()
    values = _numbers(csr.data, dtype, name)
    starts, columns = (np.require(each, requirements=['C', 'A']) for each in (csr.indptr, csr.indices))
    return _native.Rows.sparse(starts, columns, values, csr.shape[1], feature_names=names, **more)


def _table(x, dtype, module, more, threads):
    """None: the table cannot hand out a stream here."""
    if module == 'pandas':
        if not hasattr(x, 'columns'):
            raise _native.UsageError('X: expected a table, found a column; use frame[["name"]]')
        # An index would come as a column more.
        x = x.reset_index(drop=True)
    try:
        stream = x.__arrow_c_stream__()
    except ImportError:  # pandas without pyarrow
        return None
    return _native.Rows.arrow(stream, dtype=None if dtype is None else dtype.name, threads=threads, **more)
