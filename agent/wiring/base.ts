/** What every part of the agent is handed. */
import { type Clock, systemClock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createMetricsRegistry, type MetricsRegistry } from '#api/kit/metrics.ts';
import type { ProcessLogger } from '#api/kit/process-logger.ts';
import { createWaits, type Waits } from '#api/kit/waits.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import type { Origins } from '../config/origin.ts';
import { createEventRecorder, type EventRecorder } from '../events/recorder.ts';
import { createEvictionMetrics, type EvictionMetrics } from '../eviction/metrics.ts';
import { createTidy } from '../node/memory-tidier.ts';
import { hostAddresses, instanceId } from '../node/node-facts.ts';
import { loadNodeSettings } from '../node/node-settings.ts';
import { createNodePressure, type NodePressure } from '../node/pressure.ts';
import { type Changes, createChanges } from '../pods/changes.ts';
import type { NodeSettings } from '../pods/operations/deps.ts';
import { prefixedRegistry } from '../resources/prefixed-metrics.ts';
import { createShutdownState, type ShutdownState } from '../shutdown/state.ts';

/** What every part is handed. */
export interface Base {
  readonly config: AgentConfig;
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly log: Logger;
  readonly node: string;
  readonly settings: NodeSettings;
  readonly events: EventRecorder;
  /** Of the agent's own metrics, which have its name before theirs. */
  readonly metrics: MetricsRegistry;
  /** Of pods that are ended to save the node. */
  readonly counts: EvictionMetrics;
  /** Of pods, for those who follow them. */
  readonly changes: Changes;
  /** What the node is short of. */
  readonly pressure: NodePressure;
  /** Whether the machine is shutting down. */
  readonly shutdown: ShutdownState;
  readonly origins: Origins;
  /** Gives back memory that the process doesn't need. */
  readonly tidy: () => void;
  /** What the agent waits on. */
  readonly waits: Waits;
  /** Resolves when the runtime was seen, so that pods can run. */
  readonly canRun: { readonly promise: Promise<void>; readonly resolve: () => void };
  /** Changes how much is logged, where the logger is the agent's own. */
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
  const metrics = prefixedRegistry(createMetricsRegistry(), vocabulary.agentComponent);
  const changes = createChanges();
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
