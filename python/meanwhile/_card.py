"""The card that a notebook shows above scikit-learn's diagram: what a run made, and a line of how
its objective fell."""

import html

import numpy as np


def line(values, width=240, height=48):
    """An SVG of the values from left to right, as text. Values that are not finite are left out."""
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if values.size < 2:
        return ''
    # A long run is drawn with as many points as can be told apart.
    values = values[np.unique(np.linspace(0, values.size - 1, min(values.size, width)).astype(int))]
    low, high = values.min(), values.max()
    x = np.linspace(2, width - 2, values.size)
    y = height - 4 - (values - low) / (high - low or 1) * (height - 8)
    points = ' '.join(f'{a:.1f},{b:.1f}' for a, b in zip(x, y, strict=True))
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="objective by round"><polyline points="{points}" fill="none" stroke="currentColor" '
        'stroke-width="1.5"/></svg>'
    )


def card(estimator):
    """HTML for an estimator; nothing before it is fitted."""
    sha256 = getattr(estimator, 'model_sha256_', None)
    if sha256 is None:
        return ''
    objective = estimator.history_.get('objective', np.array([]))
    facts = [('model', sha256[:12]), ('rounds', f'{int(np.max(estimator.n_iter_)):,}')]
    if len(objective):
        facts.append(('objective', f'{objective[0]:.6g} → {objective[-1]:.6g}'))
    ended = getattr(estimator.model_, 'ended', '')
    if ended:
        facts.append(('ended', ended))
    rows = ''.join(
        f'<tr><td style="text-align:left">{html.escape(name)}</td>'
        f'<td style="text-align:left"><code>{html.escape(value)}</code></td></tr>'
        for name, value in facts
    )
    return (
        '<div class="meanwhile-card" style="display:flex;gap:1.5em;align-items:center">'
        f'<table>{rows}</table>{line(objective)}</div>'
    )
