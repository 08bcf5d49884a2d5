/** Probe manager of the node: starts and stops probes with their containers, and reports their results. */

import type { Container, Pod } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import {
  type ContainerProbes,
  createContainerProbes,
  isProbed,
  type ProbeTarget,
} from './container-probes.ts';
import { createProbeCounts, type ProbeCount, type ProbeCounts } from './counts.ts';
import type { ProbeRunner } from './probe-types.ts';
import type { PodTargets } from './targets.ts';
import type { ProbeVerdict } from './verdict.ts';

export interface ProbeManagerDeps {
  readonly clock: Clock;
  readonly run: ProbeRunner;
  /** Called when a verdict of this pod has changed. Never called from within `sync`. */
  readonly onChange: (podUID: string) => void;
  readonly event: (
    pod: Pod,
    type: 'Warning',
    reason: 'Unhealthy' | 'ProbeWarning',
    message: string,
    container: Container,
  ) => void;
  /** 0 to 1; Math.random unless given. */
  readonly random?: () => number;
}

export interface ProbeManagerOptions {
  /** Feature gate ProbeTerminationGracePeriod. */
  readonly probeGracePeriod: boolean;
}

export interface ProbeManager {
  /** Replaces the set of probed containers of the pod; `undefined` stops all of its probes. Cheap when
   *  nothing changed. */
  sync(podUID: string, targets: PodTargets | undefined): void;
  /** Returns the verdict on a probed container; `undefined` for any other. */
  verdict(containerId: string): ProbeVerdict | undefined;
  /** Returns the result counts of the probed pods. */
  counts(): readonly ProbeCount[];
  /** Stops all probes. */
  stop(): void;
}

interface ProbedPod {
  podIP: string;
  readonly counts: ProbeCounts;
  readonly containers: Map<string, ContainerProbes>;
}

export function createProbeManager(deps: ProbeManagerDeps, options: ProbeManagerOptions): ProbeManager {
  const { clock, run, random = Math.random } = deps;
  const bornAtMs = clock.now();
  const pods = new Map<string, ProbedPod>();
  const byContainer = new Map<string, ContainerProbes>();

  /** After an agent restart all containers are new to it at once; their probes are spread over a period. */
  const jitterOf = ({ startedAtMs }: ProbeTarget): number => (startedAtMs < bornAtMs ? random() : 0);

  function begin(podUID: string, probed: ProbedPod, pod: Pod, target: ProbeTarget): void {
    const { container } = target;
    const probes = createContainerProbes(
      {
        clock,
        run,
        podIP: () => probed.podIP,
        onChange: () => deps.onChange(podUID),
        event: (reason, message) => deps.event(pod, 'Warning', reason, message, container),
        counted: (kind, outcome) => probed.counts.add(pod, container.name, kind, outcome),
      },
      { pod, target, jitter: jitterOf(target), probeGracePeriod: options.probeGracePeriod },
    );
    probed.containers.set(target.containerId, probes);
    byContainer.set(target.containerId, probes);
  }

  function end(probed: ProbedPod, containerId: string): void {
    probed.containers.get(containerId)?.stop();
    probed.containers.delete(containerId);
    byContainer.delete(containerId);
  }

  function sync(podUID: string, targets: PodTargets | undefined): void {
    const wanted = (targets?.containers ?? []).filter(({ container }) => isProbed(container));
    const probed = pods.get(podUID) ?? {
      podIP: '',
      counts: createProbeCounts(),
      containers: new Map<string, ContainerProbes>(),
    };
    const ids = new Set(wanted.map(({ containerId }) => containerId));
    for (const id of probed.containers.keys()) if (!ids.has(id)) end(probed, id);
    if (targets === undefined || wanted.length === 0) {
      pods.delete(podUID);
      return;
    }
    probed.podIP = targets.podIP;
    pods.set(podUID, probed);
    for (const target of wanted) {
      if (!probed.containers.has(target.containerId)) begin(podUID, probed, targets.pod, target);
    }
  }

  return {
    sync,
    verdict: (containerId) => byContainer.get(containerId)?.verdict(),
    counts: () => [...pods.values()].flatMap(({ counts }) => counts.list()),
    stop() {
      for (const podUID of pods.keys()) sync(podUID, undefined);
    },
  };
}
