/** Fleet of twenty pods of five kinds that a fault test starts, changes and stops, with its expected final
 *  state. */
import { join } from 'node:path';
import type { Pod } from '#api/gen/core-v1.ts';
import type { Random } from '../../testing/random.ts';
import { containerNameOf, podUIDOf, type Traces } from '../../testing/traces.ts';

export const KINDS = ['plain', 'init', 'sidecar', 'volumes', 'job'] as const;
export type FleetKind = (typeof KINDS)[number];

export interface Member {
  readonly name: string;
  readonly kind: FleetKind;
  /** Counts the changes of the manifest; undefined while the pod is not desired. */
  version: number | undefined;
}

export function createFleet(size: number): readonly Member[] {
  return Array.from({ length: size }, (_, index) => ({
    name: `p${index}`,
    kind: KINDS[index % KINDS.length] ?? 'plain',
    version: undefined,
  }));
}

/** The folder in which jobs and init containers leave one line for each time they ran. */
export const marksDir = (folder: string): string => join(folder, 'marks');

const SLEEP = `trap 'exit 0' TERM; while :; do sleep 1000 & wait $!; done`;

/** Returns the manifest of one version. The label `version` distinguishes versions in responses. */
export function manifestOf(member: Member, folder: string): string {
  const { name, kind, version } = member;
  const mark = (container: string): string => `echo ran >> /marks/${name}.${version}.${container}`;
  const mounts = [{ name: 'marks', mountPath: '/marks' }];
  const container = (containerName: string, script: string, more: object = {}): object => ({
    name: containerName,
    image: 'local/busybox:1',
    command: ['sh', '-c', script],
    volumeMounts: mounts,
    ...more,
  });
  const volumes: object[] = [{ name: 'marks', hostPath: { path: marksDir(folder) } }];
  const base = {
    hostNetwork: true,
    terminationGracePeriodSeconds: kind === 'plain' ? 1 : 3,
    volumes,
  };
  const shared = [...mounts, { name: 'shared', mountPath: '/shared' }];
  const specs: Readonly<Record<FleetKind, () => object>> = {
    plain: () => ({ ...base, containers: [container('a', 'exec sleep 1000'), container('b', SLEEP)] }),
    init: () => ({
      ...base,
      volumes: [...volumes, { name: 'shared', emptyDir: { medium: 'Memory' } }],
      initContainers: [
        container('i1', 'echo 1 > /shared/one', { volumeMounts: shared }),
        container('i2', 'cat /shared/one', { volumeMounts: shared }),
      ],
      containers: [container('a', `test -e /shared/one && ${SLEEP}`, { volumeMounts: shared })],
    }),
    sidecar: () => ({
      ...base,
      initContainers: [container('side', SLEEP, { restartPolicy: 'Always' })],
      containers: [container('a', SLEEP)],
    }),
    volumes: () => ({
      ...base,
      volumes: [
        ...volumes,
        { name: 'shared', emptyDir: {} },
        { name: 'conf', configMap: { name: 'settings' } },
      ],
      containers: [
        container('a', `test -e /conf/key && ${SLEEP}`, {
          volumeMounts: [...shared, { name: 'conf', mountPath: '/conf' }],
        }),
      ],
    }),
    job: () => ({
      ...base,
      restartPolicy: 'Never',
      containers: [container('a', `${mark('a')}; sleep 0.3`)],
    }),
  };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { version: `v${version}` } },
    spec: specs[kind](),
  });
}

export const SETTINGS_MANIFEST: string = JSON.stringify({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings' },
  data: { key: 'value' },
});

/** Makes one random change: create, update, delete, or only rewrite. */
export function mutate(members: readonly Member[], random: Random): Member {
  const member = random.pick(members);
  const versions = (member.version ?? random.below(1_000_000)) + 1;
  member.version = member.version !== undefined && random.next() < 0.35 ? undefined : versions;
  return member;
}

/** Returns every difference between the observed and the desired state. */
export function differences(
  members: readonly Member[],
  pods: readonly Pod[],
  traces: Traces,
): readonly string[] {
  const wanted = members.filter(({ version }) => version !== undefined);
  const found: string[] = [];
  if (pods.length !== wanted.length) found.push(`${pods.length} pods instead of ${wanted.length}`);
  const uids = new Set<string>();
  for (const member of wanted) {
    const pod = pods.find(({ metadata }) => metadata?.name === `${member.name}-n1`);
    const uid = pod?.metadata?.uid;
    if (pod === undefined || uid === undefined) {
      found.push(`${member.name} is missing`);
      continue;
    }
    uids.add(uid);
    found.push(
      ...podDifferences(member, pod, traces).map((text) => `${member.name} (${member.kind}): ${text}`),
    );
  }
  const unknown = (text: string, all: readonly string[]): readonly string[] =>
    all.filter((uid) => !uids.has(uid)).map((uid) => `${text} of ${uid}, which is not wanted`);
  return [
    ...found,
    ...unknown('container', traces.containers.map(podUIDOf)),
    ...unknown('sandbox', traces.sandboxes.map(podUIDOf)),
    ...unknown('folder', traces.podDirs),
    ...unknown(
      'logs',
      traces.logDirs.map((name) => name.split('_')[2] ?? ''),
    ),
    ...unknown(
      'mount',
      traces.mounts.map((path) => /\/pods\/([^/]+)/.exec(path)?.[1] ?? path),
    ),
    ...traces.deadLinks.map((name) => `link ${name} leads nowhere`),
  ];
}

const RUNNING: Readonly<Record<FleetKind, readonly string[]>> = {
  plain: ['a', 'b'],
  init: ['a'],
  sidecar: ['a', 'side'],
  volumes: ['a'],
  job: [],
};

function podDifferences(member: Member, pod: Pod, traces: Traces): readonly string[] {
  const uid = pod.metadata?.uid ?? '';
  const phase = member.kind === 'job' ? 'Succeeded' : 'Running';
  const ready = traces.sandboxes.filter((one) => podUIDOf(one) === uid && one.state === 'SANDBOX_READY');
  const own = traces.containers.filter((one) => podUIDOf(one) === uid);
  const running = own.filter(({ state }) => state === 'CONTAINER_RUNNING').map(containerNameOf);
  const made = own.filter(({ state }) => state === 'CONTAINER_CREATED').map(containerNameOf);
  const mounts = traces.mounts.filter((path) => path.includes(uid));
  const expected: readonly (readonly [text: string, actual: unknown, wanted: unknown])[] = [
    ['version', pod.metadata?.labels?.['version'], `v${member.version}`],
    ['phase', pod.status?.phase, phase],
    ['ready sandboxes', ready.length, member.kind === 'job' ? 0 : 1],
    ['running containers', running.sort().join(), RUNNING[member.kind].join()],
    ['containers never started', made.join(), ''],
    ['mounts', mounts.length, member.kind === 'init' ? 1 : 0],
    ['folders of logs', traces.logDirs.filter((name) => name.endsWith(uid)).length, 1],
  ];
  return expected
    .filter(([, actual, wish]) => actual !== wish)
    .map(([text, actual, wish]) => `${text} ${String(actual)} instead of ${String(wish)}`);
}
