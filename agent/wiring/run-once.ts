/** Wires a run that starts the pods of the local sources once and ends: no API server, no servers, no eviction.
 *  The pods keep running. */
import type { AgentConfig } from '../config/gen/config.ts';
import { type RunOnceOutcome, runOnceOutcome, untilStartedOnce } from '../pods/run-once.ts';
import { runAll } from './background.ts';
import type { Base } from './base.ts';
import { createCollectionSubsystem } from './node/garbage-collection.ts';
import { createNetworkSubsystem } from './node/network.ts';
import { settledWithin } from './parts.ts';
import { createPodSubsystem } from './pods/pods.ts';
import type { RuntimeSubsystem } from './runtime.ts';

/** Pods of the local sources were not started. */
export class RunOnceError extends Error {
  override readonly name = 'RunOnceError';
}

/** Settings of a run that ends: the sources are read like those of a standalone agent. */
export const standalone = (config: AgentConfig): AgentConfig => ({
  ...config,
  platconfig: '',
  bootstrapKubeconfig: '',
});

function checked(outcome: RunOnceOutcome | undefined, stop: AbortSignal): readonly string[] {
  if (stop.aborted) throw new RunOnceError('stopped before every pod was started');
  if (outcome === undefined) throw new RunOnceError('the sources of pods were not read');
  const { started, failed, pending } = outcome;
  if (failed.length + pending.length > 0) throw new RunOnceError([...failed, ...pending].join('; '));
  return started;
}

/** Returns when every pod runs or has succeeded.
 *  @throws RunOnceError naming each pod and manifest that failed */
export async function runOnce(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  stop: AbortSignal,
): Promise<void> {
  const network = await createNetworkSubsystem(base, runtimeSubsystem, undefined);
  const podSubsystem = await createPodSubsystem(base, runtimeSubsystem);
  const collection = createCollectionSubsystem(base, runtimeSubsystem, podSubsystem);
  const over = new AbortController();
  const signal = AbortSignal.any([stop, over.signal]);
  const { manager, sources, probes, execs } = podSubsystem;
  const work = Promise.all([
    runAll(base, runtimeSubsystem, podSubsystem, collection, signal),
    network.run(signal),
  ]);
  try {
    const outcome = untilStartedOnce(
      {
        clock: base.clock,
        outcome: () => runOnceOutcome(sources.current(), (namespace, name) => manager.find(namespace, name)),
        onChange: (listener) => {
          const ends = [base.changes.add(listener), sources.onChange(listener)];
          return () => ends.forEach((end) => end());
        },
      },
      stop,
    );
    const started = checked(await Promise.race([outcome, work.then(() => outcome)]), stop);
    base.log.info({ pods: started }, 'Pods started once');
  } finally {
    over.abort(new Error('agent ran once'));
    probes.stop();
    await settledWithin(base.clock, [work, manager.stopped(), execs.setUp()]);
    runtimeSubsystem.connection.close();
    runtimeSubsystem.imageConnection.close();
  }
}
