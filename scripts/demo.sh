#!/usr/bin/env bash
# Clusters images of handwritten digits, learns to tell them apart, and finds the topics of this project's own pages with what was built;
# shows each command with its output.
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/release/meanwhile
data=demo/digits.csv.gz
run=runs/demo

rm -rf "$run" "$run-logistic" "$run-topics"  # of the last demo

show() {
  echo
  echo "\$ $*"
  "$@"
}

echo "1,797 images of handwritten digits, 8 x 8 pixels each; the last column says which digit."
show "$program" inspect "$data" --label-column -1
show "$program" train kmeans "$data" --label-column -1 --n-clusters 10 --n-init 10 --seed 7 --out "$run"
show "$program" evaluate "$run" "$data" --label-column -1
show "$program" predict "$run" "$data" --label-column -1 --out "$run/labels.csv"

echo
echo "Which digits are in which cluster (rows: clusters, columns: the digits 0 to 9):"
paste -d, "$run/labels.csv" <(zcat "$data" | awk -F, '{ print $NF }') |
  awk -F, '{ count[$1, $2 + 0]++ }
           END { for (c = 0; c < 10; c++) { printf "%4d |", c
                   for (d = 0; d < 10; d++) printf "%5d", count[c, d]; print "" } }'

echo
echo "Now with the labels: a linear model that tells the digits apart, a fifth of the rows held out."
show "$program" train logistic "$data" --label-column -1 --validation-fraction 0.2 --seed 7 --out "$run-logistic"
show "$program" evaluate "$run-logistic" "$data" --label-column -1

echo
echo "And what the pages of this project are about, each line of them a document:"
show "$program" train lda doc/*.md README.md --format text --n-topics 8 --seed 1 --out "$run-topics"
show "$program" topics "$run-topics" --top 10

echo
echo "The record of the run is in $run: run.json, metrics.jsonl, trace.json (opens in Perfetto), and"
echo "the model. Next, try"
echo
echo "  $program inspect $run"
echo "  $program train kmeans $data --label-column -1 --n-clusters 20 --metric cosine"
echo "  $program train kmeans YOUR.csv --n-clusters 8"
echo "  $program train kmeans --help"
