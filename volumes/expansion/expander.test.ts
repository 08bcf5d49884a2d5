import { describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/schema/gen/core-v1.ts';
import { type Expand, ExpansionRefusedError } from './contract.ts';
import { createExpander } from './expander.ts';

const { signal } = new AbortController();
const POD = { metadata: { name: 'p', uid: 'u1' } };

interface Given {
  readonly has?: string;
  readonly size?: string;
  readonly readOnly?: boolean;
  readonly expand?: Expand;
  /** Whether the server can be told. */
  readonly isAway?: () => boolean;
}

/** A claim, its volume, and a server that believes what it is told. */
function setUp({ has = '1Gi', size = '1Gi', readOnly = false, expand, isAway = () => false }: Given = {}) {
  const said: string[] = [];
  const state = { has, size, wanted: size };
  const claim = (): PersistentVolumeClaim => ({
    metadata: { namespace: 'ns', name: 'c', uid: 'cu' },
    spec: { volumeName: 'pv', resources: { requests: { storage: state.wanted } } },
    status: { capacity: { storage: state.has } },
  });
  const volume = (): PersistentVolume => ({
    metadata: { name: 'pv' },
    spec: { capacity: { storage: state.size } },
  });
  const reads: string[] = [];
  const expander = createExpander({
    log: silentLogger,
    reports: {
      begun: async ({ size: to }) => void said.push(`begun ${to}`),
      async finished({ size: to }) {
        if (isAway()) throw new Error('away');
        state.has = to;
        said.push(`finished ${to}`);
      },
      readOnly: ({ size: to }) => void said.push(`read-only ${to}`),
      failed: (_, error, inUse) => void said.push(`failed ${error.message} ${inUse}`),
    },
  });
  const use = {
    pod: POD,
    claim: claim(),
    volume: volume(),
    readOnly,
    expand: expand ?? (async ({ sizeBytes }: { sizeBytes: number }) => void said.push(`grew ${sizeBytes}`)),
  };
  const objects = {
    getPersistentVolumeClaim: async () => {
      reads.push('claim');
      return claim();
    },
    getPersistentVolume: async () => {
      reads.push('volume');
      return volume();
    },
  };
  return { said, reads, state, follow: () => expander.follow(use, objects, signal) };
}

const GREW = ['begun 2Gi', 'grew 2147483648', 'finished 2Gi'];

describe('createExpander', () => {
  test('grows what has grown, before the pod has it', async () => {
    const { said, follow } = setUp({ size: '2Gi' });
    const look = await follow();
    expect(said).toEqual(GREW);
    await look(signal);
    expect(said).toEqual(GREW);
  });

  test('grows it while the pod has it, and reads the volume only when the claim asks for more', async () => {
    const { said, reads, state, follow } = setUp();
    const look = await follow();
    await look(signal);
    expect(reads).toEqual(['claim']);
    state.wanted = '2Gi';
    await look(signal);
    expect(said).toEqual([]);
    state.size = '2Gi';
    await look(signal);
    expect(said).toEqual(GREW);
  });

  test('keeps the pod waiting for a volume that cannot grow, and tells', async () => {
    const expand = () => Promise.reject(new Error('disk is broken'));
    const { said, follow } = setUp({ size: '2Gi', expand });
    await expect(follow()).rejects.toThrow('disk is broken');
    expect(said).toEqual(['begun 2Gi', 'failed disk is broken false']);
  });

  test('tells of failures while it is in use, and tries again', async () => {
    let isBroken = true;
    const expand = () => (isBroken ? Promise.reject(new Error('busy')) : Promise.resolve());
    const { said, state, follow } = setUp({ expand });
    const look = await follow();
    Object.assign(state, { size: '2Gi', wanted: '2Gi' });
    await look(signal);
    isBroken = false;
    await look(signal);
    expect(said).toEqual(['begun 2Gi', 'failed busy true', 'begun 2Gi', 'finished 2Gi']);
  });

  test('gives the pod its volume as it is where that refuses, and asks it no more', async () => {
    const expand = () => Promise.reject(new ExpansionRefusedError('not while in use'));
    const { said, reads, follow } = setUp({ size: '2Gi', expand });
    const look = await follow();
    await look(signal);
    expect(said).toEqual(['begun 2Gi', 'failed not while in use true']);
    expect(reads).toEqual([]);
  });

  test('leaves alone what is read-only, and tells', async () => {
    const { said, follow } = setUp({ size: '2Gi', readOnly: true });
    await follow();
    expect(said).toEqual(['read-only 2Gi']);
  });

  test('tells later what could not be told at once', async () => {
    let isAway = true;
    const { said, follow } = setUp({ size: '2Gi', isAway: () => isAway });
    const look = await follow();
    expect(said).toEqual(GREW.slice(0, 2));
    isAway = false;
    await look(signal);
    expect(said).toEqual([...GREW.slice(0, 2), ...GREW]);
  });

  test('lets one pod at a time grow a volume', async () => {
    const release = Promise.withResolvers<void>();
    let growing = 0;
    let most = 0;
    const expand = async () => {
      growing += 1;
      most = Math.max(most, growing);
      await release.promise;
      growing -= 1;
    };
    const { follow } = setUp({ size: '2Gi', expand });
    const both = Promise.all([follow(), follow()]);
    release.resolve();
    await both;
    expect(most).toBe(1);
  });
});
