import { readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import type { Volume } from '#api/gen/core-v1.ts';
import { sleep, systemClock } from '#api/kit/clock.ts';
import { createTestDisks } from '#volumes/devices/disk.fixture.ts';
import { mountsBeneath, parseMountInfo } from '#volumes/mount/mountinfo.ts';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { createRandom } from '../../testing/random.ts';
import { ofRound } from '../../testing/rounds.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { claimed, configMap, pod, secret, sh, WAIT } from '../lifecycle/support.ts';

const KILLS = ofRound({ short: 40, long: 600 });
const CHECK_EVERY = ofRound({ short: 20, long: 40 });
/** An agent needs about half of this before it works on volumes. */
const LONGEST_LIFE_MS = 600;

/** Volumes of each pod, and their mount points below its folder. */
interface Kind {
  readonly volumes: readonly Volume[];
  readonly devices?: readonly string[];
  readonly mounts: readonly string[];
  /** The claim of its disk. */
  readonly disk?: 'disk' | 'raw';
}

const DISK: Kind = {
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'disk' } }],
  mounts: ['volumes/local-volume/data'],
  disk: 'disk',
};
const KINDS: Readonly<Record<string, Kind>> = {
  files: {
    volumes: [
      { name: 'cache', emptyDir: {} },
      { name: 'fast', emptyDir: { medium: 'Memory' } },
      { name: 'config', configMap: { name: 'settings' } },
      { name: 'login', secret: { secretName: 'login' } },
    ],
    mounts: ['volumes/empty-dir/fast', 'volumes/secret/login'],
  },
  'disk-a': DISK,
  'disk-b': DISK,
  raw: {
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'raw' } }],
    devices: ['data'],
    mounts: ['volumeDevices/local-volume/data'],
    disk: 'raw',
  },
};

function manifestOf(name: string, { volumes, devices = [] }: Kind): string {
  const mounted = volumes.filter((volume) => !devices.includes(volume.name));
  const container = sh('main', WAIT, {
    volumeMounts: mounted.map((volume) => ({ name: volume.name, mountPath: `/v/${volume.name}` })),
    volumeDevices: devices.map((device) => ({ name: device, devicePath: `/dev/${device}` })),
  });
  return pod(name, { volumes, containers: [container] });
}

/** Returns every mount below the agent's root, with pods by name and without variable parts. */
async function mountsOf(agent: TestAgent): Promise<readonly string[]> {
  const root = await realpath(agent.root);
  const names = new Map(
    (await agent.pods()).map(({ metadata }) => [metadata?.uid ?? '', metadata?.name?.replace(/-n1$/, '')]),
  );
  const table = parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'));
  return mountsBeneath(table, root)
    .map(({ mountPoint }) => mountPoint.slice(root.length + 1))
    .map((path) => path.replace(/^pods\/([^/]+)\//, (_, uid: string) => `${names.get(uid) ?? uid}/`))
    .map((path) => path.replace(/\/[^/~]+~/, '/').replace(/[0-9a-f]{64}/, '<volume>'))
    .toSorted();
}

function expectedMounts(present: ReadonlySet<string>): readonly string[] {
  const kinds = [...present].flatMap((name) =>
    KINDS[name] === undefined ? [] : [[name, KINDS[name]] as const],
  );
  const staged = kinds.some(([, { disk }]) => disk === 'disk') ? ['plugins/local/<volume>/globalmount'] : [];
  return [
    ...kinds.flatMap(([name, { mounts }]) => mounts.map((path) => `${name}/${path}`)),
    ...staged,
  ].toSorted();
}

interface Held {
  readonly podFolders: number;
  readonly mounts: readonly string[];
}

const wanted = (present: ReadonlySet<string>): Held => ({
  podFolders: present.size,
  mounts: expectedMounts(present),
});

/** Returns the state once exactly the desired pods run with exactly their mounts, or on timeout. */
async function settled(agent: TestAgent, present: ReadonlySet<string>): Promise<Held> {
  for (const name of present) await agent.waitFor(name, isReady, 60_000);
  const look = async (): Promise<Held> => ({
    podFolders: (await readdir(join(agent.root, 'pods'))).length,
    mounts: await mountsOf(agent),
  });
  const target = JSON.stringify(wanted(present));
  // Failed attempts are retried after their backoff.
  const patience = { timeoutMs: 40_000, intervalMs: 100 };
  await eventually(async () => JSON.stringify(await look()) === target, patience).catch(() => undefined);
  return look();
}

test(`an agent killed at ${KILLS} moments ends with exactly the wanted mounts`, {
  timeout: 200_000 + KILLS * 2500,
}, async () => {
  const random = createRandom();
  await using disks = await createTestDisks();
  const [disk, raw] = [await disks.disk(16), await disks.disk(8)];
  const folder = await createTempDir('na-fault-');
  await using agent = await TestAgent.create({ endpoint: inject('criEndpoint'), folder });
  const present = new Set<string>();
  const put = async (name: string, there: boolean): Promise<void> => {
    const kind = KINDS[name];
    if (kind === undefined) return;
    if (there) await agent.put(`${name}.json`, manifestOf(name, kind));
    else await agent.drop(`${name}.json`);
    if (there) present.add(name);
    else present.delete(name);
  };
  try {
    const objects = [
      configMap('settings', { a: '1' }),
      secret('login', { password: 'x' }),
      ...claimed('disk', { local: { path: disk.device, fsType: 'ext4' } }),
      ...claimed('raw', { volumeMode: 'Block', local: { path: raw.device } }),
    ];
    for (const [index, text] of objects.entries()) await agent.put(`object-${index}.json`, text);
    for (const name of Object.keys(KINDS)) await put(name, true);
    expect(await settled(agent, present)).toEqual(wanted(present));
    await agent.stop('SIGKILL');
    for (let kill = 1; kill <= KILLS; kill += 1) {
      agent.spawn();
      const lifeMs = random.below(LONGEST_LIFE_MS);
      await sleep(systemClock, lifeMs / 2);
      const name = random.pick(Object.keys(KINDS));
      await put(name, !present.has(name));
      await sleep(systemClock, lifeMs / 2);
      await agent.stop('SIGKILL');
      if (kill % CHECK_EVERY !== 0) continue;
      await agent.start();
      expect(await settled(agent, present)).toEqual(wanted(present));
      if (kill !== KILLS) await agent.stop('SIGKILL');
    }
    for (const name of Object.keys(KINDS)) await put(name, false);
    expect(await settled(agent, present)).toEqual(wanted(present));
  } catch (cause) {
    throw new Error(`failed with TEST_SEED=${random.seed}`, { cause });
  }
});
