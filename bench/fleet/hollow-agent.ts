/** A hollow agent: the unmodified agent with the fake runtime in the same process. Its pods run no
 *  processes. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '#agent/config/load.ts';
import { createBase } from '#agent/wiring/base.ts';
import { runParts } from '#agent/wiring/parts.ts';
import { createRuntimeParts } from '#agent/wiring/runtime.ts';
import { systemClock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { FakeTypes } from '#cri/fake/fake-runtime.ts';
import { connectInProcess } from '#cri/fake/loopback.ts';

/** Image of all pods, present on every node. */
export const FLEET_IMAGE = 'local/pause:1';
/** Image of the new revision. */
export const NEXT_IMAGE = 'local/pause:2';

export interface HollowDeps {
  /** Shared by all agents of a process. */
  readonly types: FakeTypes;
  readonly log: Logger;
}

export interface HollowOptions {
  readonly name: string;
  /** Its own directory. */
  readonly dir: string;
  /** File of its bootstrap configuration. */
  readonly bootstrapConfig: string;
}

const flagsOf = ({ name, dir, bootstrapConfig }: HollowOptions): readonly string[] => [
  `--hostname-override=${name}`,
  `--root-dir=${dir}`,
  `--pod-logs-dir=${dir}/logs`,
  `--container-logs-dir=${dir}/links`,
  `--socket=${dir}/a.sock`,
  `--cert-dir=${dir}/pki`,
  `--bootstrap-kubeconfig=${bootstrapConfig}`,
  `--platconfig=${dir}/platconfig`,
  '--healthz-port=0',
  '--enable-server=false',
  // Pressure on the benchmark machine must not affect its simulated nodes.
  '--eviction-hard=',
  '--cgroups-per-qos=false',
  '--enforce-node-allocatable=none',
  '--fail-swap-on=false',
  '--make-iptables-util-chains=false',
];

/** Runs until the signal fires.
 *  @param up called when it works; its node may not be registered yet
 *  @throws Error for invalid flags, and the error of an agent that exits */
export async function runHollowAgent(
  { types, log }: HollowDeps,
  options: HollowOptions,
  stop: AbortSignal,
  up: () => void,
): Promise<void> {
  const { name, dir } = options;
  await mkdir(join(dir, 'pki'), { recursive: true });
  const loaded = await loadConfig(flagsOf(options), { readFile: (path) => readFile(path), cwd: dir });
  if (loaded.kind !== 'ok') throw new Error(`configuration of ${name}: ${JSON.stringify(loaded)}`);
  const base = await createBase(loaded.config, loaded.origins, name, log.child({ node: name }));
  const { connection, controls } = connectInProcess({ clock: systemClock, log, types });
  for (const reference of [FLEET_IMAGE, NEXT_IMAGE]) controls.images.add({ reference });
  // The process runs many agents, so a single agent cannot tell when the process is idle.
  const own = { ...base, tidy: () => undefined };
  const runtimeSide = createRuntimeParts(own, connection, connection);
  await runParts(own, runtimeSide, stop, () => {
    up();
    return Promise.resolve({ until: Promise.resolve(), stopping: () => undefined });
  });
}
