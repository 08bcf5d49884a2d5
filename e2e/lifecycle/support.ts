/** Fixture of the lifecycle tests: an agent on the run's containerd, builders of manifests, and inspection of
 *  containers that bypasses the agent. */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { inject } from 'vitest';
import type { Container, ContainerStatus, PersistentVolumeSpec, Pod, PodSpec } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { TestAgent, type TestAgentOptions } from '../../testing/agent.ts';
import { useShared } from '../../testing/shared.ts';
import { eventually } from '../../testing/wait.ts';

export const IMAGE = 'local/busybox:1';
/** Exits at once on SIGTERM, unlike a bare sleep as process 1. */
export const WAIT = 'trap exit TERM; while :; do sleep 1000 & wait $!; done';

type Metadata = NonNullable<Pod['metadata']>;

/** A container that runs the shell script. */
export const sh = (name: string, script: string, more: Partial<Container> = {}): Container => ({
  name,
  image: IMAGE,
  command: ['sh', '-c', script],
  ...more,
});

/** Returns a manifest as JSON. On the host's network and without grace period unless the spec sets them. */
export function pod(name: string, spec: PodSpec, metadata: Partial<Metadata> = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { hostNetwork: true, terminationGracePeriodSeconds: 0, ...spec },
  });
}

export const configMap = (name: string, data: Readonly<Record<string, string>>): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });

export const secret = (name: string, stringData: Readonly<Record<string, string>>): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData });

/** Returns a PersistentVolume of a device or directory of the node, and the claim bound to it, both of this
 *  name. */
export function claimed(name: string, spec: PersistentVolumeSpec): readonly string[] {
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '8Mi' },
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'Exists' }] }] },
      },
      ...spec,
    },
  };
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: {
      volumeName: name,
      volumeMode: spec.volumeMode ?? 'Filesystem',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '8Mi' } },
    },
  };
  return [JSON.stringify(volume), JSON.stringify(claim)];
}

/** The status of a container of any kind. */
export function statusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  return [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ].find((container) => container.name === name);
}

export const isRunning =
  (...names: readonly string[]) =>
  (found: Pod): boolean =>
    names.every((name) => statusOf(found, name)?.state?.running !== undefined);

export const hasPhase =
  (phase: string) =>
  (found: Pod): boolean =>
    found.status?.phase === phase;

export const hasEnded =
  (name: string) =>
  (found: Pod): boolean =>
    statusOf(found, name)?.state?.terminated !== undefined;

export const isWaiting =
  (name: string, reason: string) =>
  (found: Pod): boolean =>
    statusOf(found, name)?.state?.waiting?.reason === reason;

export const restarts =
  (name: string, atLeast: number) =>
  (found: Pod): boolean =>
    (statusOf(found, name)?.restartCount ?? 0) >= atLeast && isRunning(name)(found);

/** `containerd://abc` without the scheme. */
export function containerId(found: Pod, name: string): string {
  return statusOf(found, name)?.containerID?.replace(/^.*:\/\//, '') ?? '';
}

/** An agent, and a separate connection to its runtime. */
export interface Harness extends AsyncDisposable {
  readonly agent: TestAgent;
  readonly cri: CriConnection;
  /** The log of a container, once it matches. */
  logs(podName: string, container: string, until?: RegExp): Promise<string>;
  /** The standard output of a command in a container. @throws Error when it fails */
  exec(found: Pod, container: string, script: string): Promise<string>;
  /** The text of a file on the host, once it matches. */
  fileText(path: string, until: RegExp): Promise<string>;
  /** An event of the pod with this reason, its message matching. */
  event(podName: string, reason: string, message?: RegExp): Promise<string>;
  /** Time of the agent's last check for an image of the pod, the first step of starting a container. */
  imageLookedForAtMs(podName: string): Promise<number>;
}

/** Starts an agent with these flags. The caller disposes of it. */
export async function startHarness(
  flags: readonly string[] = [],
  options: Partial<TestAgentOptions> = {},
): Promise<Harness> {
  const endpoint = inject('criEndpoint');
  const agent = await TestAgent.create({ ...options, endpoint, flags });
  const cri = connectRuntime({ endpoint, log: silentLogger });
  await cri.whenConnected();
  return {
    agent,
    cri,
    logs: (podName, container, until = /./) =>
      textOnce(
        async () =>
          String(await agent.get(`/containerLogs/default/${podName}-n1/${container}?tailLines=1000`)),
        until,
        `log of ${podName}/${container}`,
      ),
    async exec(found, container, script) {
      const { stdout, stderr, exitCode } = await cri.runtime.execSync({
        containerId: containerId(found, container),
        cmd: ['sh', '-c', script],
        timeout: 10n,
      });
      if (exitCode !== 0) throw new Error(`${script}: ${exitCode} ${Buffer.from(stderr).toString()}`);
      return Buffer.from(stdout).toString();
    },
    fileText: (path, until) => textOnce(() => readFile(path, 'utf8'), until, path),
    event: (podName, reason, message = /./) =>
      eventually(
        async () => {
          const events = await agent.events(podName);
          const found = events.find((event) => event.reason === reason && message.test(event.message ?? ''));
          if (found !== undefined) return found.message;
          throw new Error(`seen: ${events.map((seen) => `${seen.reason}: ${seen.message}`).join('\n')}`);
        },
        { timeoutMs: 30_000, what: `event ${reason} ${String(message)} of ${podName}` },
      ),
    async imageLookedForAtMs(podName) {
      const pulled = (await agent.events(podName)).find(({ reason }) => reason === 'Pulled');
      return Date.parse(pulled?.lastTimestamp ?? '');
    },
    async [Symbol.asyncDispose]() {
      cri.close();
      await agent[Symbol.asyncDispose]();
    },
  };
}

/** Returns the harness of a file (or of a `describe`): started before its tests, stopped after them. */
export function useHarness(flags: readonly string[] = []): Omit<Harness, typeof Symbol.asyncDispose> {
  const harness = useShared(() => startHarness(flags));
  return {
    get agent() {
      return harness().agent;
    },
    get cri() {
      return harness().cri;
    },
    logs: (...args) => harness().logs(...args),
    exec: (...args) => harness().exec(...args),
    fileText: (...args) => harness().fileText(...args),
    event: (...args) => harness().event(...args),
    imageLookedForAtMs: (podName) => harness().imageLookedForAtMs(podName),
  };
}

/** Returns the text once it matches; it may be empty. */
async function textOnce(read: () => Promise<string>, until: RegExp, of: string): Promise<string> {
  const { text } = await eventually(
    async () => {
      const seen = await read();
      if (until.test(seen)) return { text: seen };
      throw new Error(`it is ${JSON.stringify(seen.slice(-1000))}`);
    },
    { timeoutMs: 30_000, what: `${of}: ${String(until)}` },
  );
  return text;
}

/** Asserts that a condition holds for the whole time, for events that must not happen.
 *  @throws Error if it does not */
export async function holds(condition: () => Promise<boolean>, forMs: number): Promise<void> {
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    if (!(await condition())) throw new Error(`did not hold for ${forMs} ms: ${condition.toString()}`);
    await pause(50);
  }
}
