#!/bin/sh
# Prints the agents of all nodes as targets for Prometheus: sh nodes.sh > nodes.yml
set -eu
exec kubectl get nodes -o 'jsonpath={range .items[*]}- targets: ["{.status.addresses[?(@.type=="InternalIP")].address}:{.status.daemonEndpoints.kubeletEndpoint.Port}"]{"\n"}  labels: {"{"}instance: "{.metadata.name}"{"}"}{"\n"}{end}'
