/** Dependencies shared by all parts of the agent. */
import { type Clock, systemClock } from '#api/kit/clock.ts';
import { createListeners, type Listeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ProcessLogger } from '#api/kit/logging/process-logger.ts';
import { createMetricsRegistry, type MetricsRegistry } from '#api/kit/metrics.ts';
import { createWaits, type Waits } from '#api/kit/waits.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import type { Origins } from '../config/origin.ts';
import { createEventRecorder, type EventRecorder } from '../events/recorder.ts';
import { createEvictionMetrics, type EvictionMetrics } from '../eviction/metrics.ts';
import { addBuildInfo } from '../metrics/build-info.ts';
import { createPodMetrics, type PodMetrics } from '../metrics/pod-metrics.ts';
import { createRuntimeMetrics, type RuntimeMetrics } from '../metrics/runtime-metrics.ts';
import { createTidy } from '../node/memory-tidier.ts';
import { hostAddresses, instanceId } from '../node/node-facts.ts';
import { loadNodeSettings, type NodeSettings } from '../node/node-settings.ts';
import { createNodePressure, type NodePressure } from '../node/pressure.ts';
import { prefixedRegistry } from '../resources/prefixed-metrics.ts';
import { createShutdownState, type ShutdownState } from '../shutdown/state.ts';
import { AGENT_VERSION, agentCommit } from '../version.ts';

/** Release of upstream whose behavior the agent has. */
const RELEASE = { major: '1', minor: '24' } as const;

/** Dependencies shared by all parts. */
export interface Base {
  readonly config: AgentConfig;
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly log: Logger;
  readonly node: string;
  readonly settings: NodeSettings;
  readonly events: EventRecorder;
  /** Metrics of the agent, with its name prefix. */
  readonly metrics: MetricsRegistry;
  /** Metrics that have no prefix. */
  readonly plainMetrics: MetricsRegistry;
  readonly runtimeMetrics: RuntimeMetrics;
  readonly podMetrics: PodMetrics;
  /** Metrics of evicted pods. */
  readonly counts: EvictionMetrics;
  /** Notified when a pod may have changed; listeners read the state themselves. */
  readonly changes: Listeners;
  /** Pressure conditions of the node. */
  readonly pressure: NodePressure;
  /** Whether the machine is shutting down. */
  readonly shutdown: ShutdownState;
  readonly origins: Origins;
  /** Frees unused memory of the process. */
  readonly tidy: () => void;
  /** Conditions that the agent is waiting for. */
  readonly waits: Waits;
  /** Resolves once the runtime has been observed, so that pods can run. */
  readonly canRun: { readonly promise: Promise<void>; readonly resolve: () => void };
  /** Changes the log verbosity. Absent if the logger was supplied by the caller. */
  readonly setVerbosity?: (verbosity: number) => void;
}

export async function createBase(
  config: AgentConfig,
  origins: Origins,
  node: string,
  log: Logger & Partial<Pick<ProcessLogger, 'setVerbosity'>>,
): Promise<Base> {
  const clock = systemClock;
  const vocabulary = VOCABULARIES[config.vocabulary];
  const instance = await instanceId(config.rootDir);
  const settings = await loadNodeSettings(config, { instance, hostIPs: await hostAddresses(config.nodeIP) });
  const events = createEventRecorder({ clock, log, node, vocabulary });
  const plainMetrics = createMetricsRegistry();
  const metrics = prefixedRegistry(plainMetrics, vocabulary.agentComponent);
  addBuildInfo(plainMetrics, vocabulary.apiService, {
    ...RELEASE,
    version: AGENT_VERSION,
    commit: agentCommit(),
  });
  const changes = createListeners('pod changes');
  const tidy = createTidy();
  const pressure = createNodePressure();
  const setVerbosity = (verbosity: number): void => log.setVerbosity?.(verbosity);
  return {
    config,
    vocabulary,
    clock,
    log,
    node,
    settings,
    events,
    metrics,
    plainMetrics,
    runtimeMetrics: createRuntimeMetrics(metrics),
    podMetrics: createPodMetrics(metrics),
    counts: createEvictionMetrics(metrics),
    changes,
    pressure,
    shutdown: createShutdownState(),
    origins,
    tidy,
    waits: createWaits({ clock, log }),
    canRun: Promise.withResolvers<void>(),
    setVerbosity,
  };
}
