/** A hollow agent: the agent as it is, whose runtime is the fake one in the same process. Its pods run nothing. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '#agent/config/load.ts';
import { createBase } from '#agent/wiring/base.ts';
import { runParts } from '#agent/wiring/parts.ts';
import { createRuntimeParts } from '#agent/wiring/runtime-side.ts';
import { systemClock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { FakeTypes } from '#cri/fake/fake-runtime.ts';
import { connectInProcess } from '#cri/fake/loopback.ts';

/** The image that all pods have; every node has it. */
export const FLEET_IMAGE = 'local/pause:1';
/** The one that a new revision has. */
export const NEXT_IMAGE = 'local/pause:2';

export interface HollowDeps {
  /** Shared by all agents of a process. */
  readonly types: FakeTypes;
  readonly log: Logger;
}

export interface HollowOptions {
  readonly name: string;
  /** Its own folder. */
  readonly dir: string;
  /** File by which it gets its certificate. */
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
  // What is short on the machine of the measurement is no matter of a node's that it plays.
  '--eviction-hard=',
  '--cgroups-per-qos=false',
  '--enforce-node-allocatable=none',
  '--fail-swap-on=false',
];

/** Runs until the signal fires.
 *  @param up called when it works; its node may not be registered yet
 *  @throws Error for flags that are wrong, and what ends an agent */
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
  // The process has many agents: none of them knows when it is at rest.
  const own = { ...base, tidy: () => undefined };
  const runtimeSide = createRuntimeParts(own, connection, connection);
  await runParts(own, runtimeSide, stop, () => {
    up();
    return Promise.resolve({ until: Promise.resolve(), stopping: () => undefined });
  });
}
