#!/usr/bin/env bash
# Python in build/peers with what the tests of measures, exports and formats compare with.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(numpy==2.3.4 scikit-learn==1.7.2 onnxruntime==1.23.2 safetensors==0.6.2)
ready=build/peers/ready-$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c 1-12)
if [ ! -e "$ready" ]; then
  python3 -m venv build/peers
  build/peers/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
  touch "$ready"
fi
