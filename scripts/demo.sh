#!/usr/bin/env bash
# Shows what the program does, on real data, in some ten seconds: clusters, topics, a plan, and a job
# whose worker is killed; the last lines are the same hash twice.
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/release/meanwhile
data=demo/digits.csv.gz
runs=runs/demo
rm -rf "$runs"  # of the last demo
mkdir -p "$runs"
workers=()
trap 'for worker in "${workers[@]}"; do kill "$worker" 2>/dev/null || true; done' EXIT

title() { printf '\n%s\n' "$*"; }
run() {  # run ARGUMENTS...: shows the command, then runs it
  echo "\$ meanwhile $*"
  "$program" "$@"
}
job=("kmeans" "$data" --label-column -1 --n-clusters 10 --n-init 4 --seed 7)

title "1. Clusters: 1,797 images of handwritten digits, 8 x 8 pixels, without their labels"
run train "${job[@]}" --quiet --out "$runs/threads"
"$program" predict "$runs/threads" "$data" >"$runs/labels.txt"
echo "images of the digit   0    1    2    3    4    5    6    7    8    9"
paste -d, "$runs/labels.txt" <(zcat "$data" | awk -F, '{ print $NF }') |
  awk -F, '{ count[$1, $2 + 0]++ }
           END { for (c = 0; c < 10; c++) { printf "   in cluster %2d   ", c
                   for (d = 0; d < 10; d++) {
                     n = count[c, d]; printf "%5s", n ? n : "." }
                   print "" } }'

title "2. Topics: what the documents of this project are about, each line of them a text"
run train lda doc/*.md README.md --format text --n-topics 6 --seed 1 --quiet --out "$runs/topics" 2>/dev/null |
  sed 's/ doc\/.* README.md/ doc\/*.md README.md/'
run topics "$runs/topics" --top 8 | cut -c1-100

title "3. A plan: k-means of 10,000 x 64 in 1,000 clusters on small cloud machines"
shape=(plan kmeans --rows 10000 --dims 64 --n-clusters 1000 --max-iter 50 --machine azure-small-measured)
echo "\$ meanwhile ${shape[*]}"
"$program" "${shape[@]}" --json >"$runs/plan.json"
"$program" "${shape[@]}" | grep -E '^(best|why)'
best=$(grep -o '"best":{[^}]*' "$runs/plan.json" | grep -o '"workers":[0-9]*' | head -1 | grep -o '[0-9]*')
echo "=> $best machines are worth it; $((best + 1)) are not"

title "4. A job in a directory, and a worker that dies: kill -9"
run submit "${job[@]}" --lease 2 --store "$runs/store" --quiet
echo '$ meanwhile worker --store runs/demo/store &'
"$program" worker --store "$runs/store" --threads 1 --quiet &
workers+=($!)
rounds() { "$program" status --store "$runs/store" --json | grep -o '"step":[0-9]*' | head -1 | grep -o '[0-9]*'; }
# The job has some hundred steps: the worker dies after the first ones.
for _ in $(seq 500); do
  if [ "$(rounds)" -ge 5 ]; then break; fi
  sleep 0.02
done
kill -9 "${workers[0]}"
wait "${workers[0]}" 2>/dev/null || true
if "$program" status --store "$runs/store" --json | grep -q '"state":"done"'; then
  echo "demo: the job was done before its worker was killed" >&2
  exit 1
fi
echo "  killed in step $(rounds); another worker takes over what it held"
echo '$ meanwhile worker --store runs/demo/store'
"$program" worker --store "$runs/store" --quiet
run fetch --store "$runs/store" --out "$runs/killed" --quiet

title "5. The same model, to the last bit: SHA-256 of both"
hash_of() { grep -o '"model_sha256": "[0-9a-f]*"' "$1/run.json" | grep -o '[0-9a-f]\{64\}'; }
threads=$(hash_of "$runs/threads") killed=$(hash_of "$runs/killed")
echo "on threads of this machine          $threads"
echo "at a store, with a worker killed    $killed"
[ "$threads" = "$killed" ] || { echo "demo: the models differ" >&2 && exit 1; }
echo
echo "Next: doc/tutorial.md, fifteen minutes; or $program train --help"
