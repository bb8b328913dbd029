"""What the program says beforehand: a machine's profile by `calibrate`, and times by `plan`."""

import json
import math
import statistics

from runs import FOLDER, PROGRAM, Failed, run, simd_flags


profiles = {}  # of hosts that are alike: made once


def calibrate(cluster, learner, simd=None, store=False, ranks=0):
    """The profile of a worker on a host of the cluster, as text: with storage, or with the network between ranks."""
    key = (tuple(value for name, value in cluster.settings.items() if name != "hosts"), learner, simd, store, ranks)
    if key not in profiles:
        profiles[key] = measure_host(cluster, learner, simd, store, ranks)
    return profiles[key]


def measure_host(cluster, learner, simd, store, ranks):
    path = FOLDER / "machine.toml"
    path.unlink(missing_ok=True)
    # Rounds that are long against the bursts in which a host with a share of a core works; of k-means so long that the rows do not
    # fit in the nearest cache, as those of a job do not.
    flags = ["calibrate", "--quick", "--learner", learner, "--seconds", 2 if learner == "kmeans" and not ranks else 0.3, "--threads", 1, *simd_flags(simd), "--out", path]
    if store:
        flags += ["--store", cluster.store()]
    if ranks:
        cluster.mpi(ranks, PROGRAM, *flags, limit_s=400)
    else:
        cluster.on(1, PROGRAM, *flags, limit_s=400)
    return path.read_text()


def calibrate_here(workers):
    """The profile of this machine, without a cluster and with all its instructions."""
    path = FOLDER / "machine-here.toml"
    path.unlink(missing_ok=True)
    run([PROGRAM, "calibrate", "--quick", "--threads", workers, "--out", path], 180)
    return path.read_text()


def plan(profile, flags, workers):
    """The predicted point of each number of workers."""
    path = FOLDER / "plan.toml"
    path.write_text(profile)
    text = run([PROGRAM, "plan", *flags, "--machine", path, "--workers", f"{min(workers)}..{max(workers)}", "--json"], 60)
    return {point["workers"]: point for point in json.loads(text)["points"] if point["workers"] in workers}


def attempt(what, note, *arguments, **named):
    """What `what` returns, or None with the reason in `note`: measurements are worth keeping without a prediction."""
    try:
        return what(*arguments, **named)
    except (Failed, OSError, ValueError, KeyError) as error:
        lines = str(error).strip().splitlines()
        note.append(f"{what.__name__}: " + next((line for line in lines if line.startswith("meanwhile:")), lines[-1]))
        return None


def round_seconds(point):
    return point["round_seconds"]


# --- comparing ---

def mape(pairs):
    """The mean absolute error of predictions, as a part of what was measured; None when there are none."""
    errors = [abs(predicted - measured) / measured for measured, predicted in pairs]
    return statistics.mean(errors) if errors else None


def exponent(xs, ys):
    """e of y = c x^e by least squares in logarithms; None with fewer than two points."""
    if len(xs) < 2:
        return None
    lx, ly = [math.log(x) for x in xs], [math.log(y) for y in ys]
    mx, my = statistics.mean(lx), statistics.mean(ly)
    return sum((a - mx) * (b - my) for a, b in zip(lx, ly)) / sum((a - mx) ** 2 for a in lx)


def lowest(curve):
    """Where a curve {workers: seconds} is lowest: (workers, seconds) of the best point, and the workers between points, by
    a parabola in logarithms through it and its neighbours. A flat curve's best point is a matter of luck; the
    parabola's lowest point is less so."""
    at = sorted(curve)
    i = min(range(len(at)), key=lambda k: curve[at[k]])
    best = {"workers": at[i], "seconds": curve[at[i]], "smooth_workers": float(at[i])}
    if 0 < i < len(at) - 1:
        (x0, y0), (x1, y1), (x2, y2) = [(math.log(p), math.log(curve[p])) for p in at[i - 1:i + 2]]
        left, right = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
        bend = (right - left) / (x2 - x0)
        if bend > 0:
            best["smooth_workers"] = math.exp((x0 + x1) / 2 - left / (2 * bend))
    return best
