import { describe, expect, test } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { type Expand, ExpansionRefusedError } from '../contract/expansion.ts';
import { createExpander } from './expander.ts';

const { signal } = new AbortController();
const POD = { metadata: { name: 'p', uid: 'u1' } };

interface Given {
  readonly has?: string;
  readonly size?: string;
  readonly readOnly?: boolean;
  readonly expand?: Expand;
  /** Whether the server is unavailable. */
  readonly isAway?: () => boolean;
}

/** Creates a claim, its volume, and a server that accepts every update. */
function setUp({ has = '1Gi', size = '1Gi', readOnly = false, expand, isAway = () => false }: Given = {}) {
  const events: string[] = [];
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
      begun: async ({ size: to }) => void events.push(`begun ${to}`),
      async finished({ size: to }) {
        if (isAway()) throw new Error('away');
        state.has = to;
        events.push(`finished ${to}`);
      },
      readOnly: ({ size: to }) => void events.push(`read-only ${to}`),
      failed: (_, error, inUse) => void events.push(`failed ${error.message} ${inUse}`),
    },
  });
  const use = {
    pod: POD,
    claim: claim(),
    volume: volume(),
    readOnly,
    expand: expand ?? (async ({ sizeBytes }: { sizeBytes: number }) => void events.push(`grew ${sizeBytes}`)),
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
  return { events, reads, state, follow: () => expander.follow(use, objects, signal) };
}

const GREW = ['begun 2Gi', 'grew 2147483648', 'finished 2Gi'];

describe('createExpander', () => {
  test('expands an expanded volume before the pod uses it', async () => {
    const { events, follow } = setUp({ size: '2Gi' });
    const maintain = await follow();
    expect(events).toEqual(GREW);
    await maintain(signal);
    expect(events).toEqual(GREW);
  });

  test('expands it while the pod uses it, and reads the volume only when the claim requests more', async () => {
    const { events, reads, state, follow } = setUp();
    const maintain = await follow();
    await maintain(signal);
    expect(reads).toEqual(['claim']);
    state.wanted = '2Gi';
    await maintain(signal);
    expect(events).toEqual([]);
    state.size = '2Gi';
    await maintain(signal);
    expect(events).toEqual(GREW);
  });

  test('makes the pod wait for a volume that cannot be expanded, and reports it', async () => {
    const expand = () => Promise.reject(new Error('disk is broken'));
    const { events, follow } = setUp({ size: '2Gi', expand });
    await expect(follow()).rejects.toThrow('disk is broken');
    expect(events).toEqual(['begun 2Gi', 'failed disk is broken false']);
  });

  test('reports failures while it is in use, and retries', async () => {
    let isBroken = true;
    const expand = () => (isBroken ? Promise.reject(new Error('busy')) : Promise.resolve());
    const { events, state, follow } = setUp({ expand });
    const maintain = await follow();
    Object.assign(state, { size: '2Gi', wanted: '2Gi' });
    await maintain(signal);
    isBroken = false;
    await maintain(signal);
    expect(events).toEqual(['begun 2Gi', 'failed busy true', 'begun 2Gi', 'finished 2Gi']);
  });

  test('passes the unexpanded volume to the pod after a final refusal, and does not retry', async () => {
    const expand = () => Promise.reject(new ExpansionRefusedError('not while in use'));
    const { events, reads, follow } = setUp({ size: '2Gi', expand });
    const maintain = await follow();
    await maintain(signal);
    expect(events).toEqual(['begun 2Gi', 'failed not while in use true']);
    expect(reads).toEqual([]);
  });

  test('skips read-only volumes, and reports it', async () => {
    const { events, follow } = setUp({ size: '2Gi', readOnly: true });
    await follow();
    expect(events).toEqual(['read-only 2Gi']);
  });

  test('reports later if the server is unavailable', async () => {
    let isAway = true;
    const { events, follow } = setUp({ size: '2Gi', isAway: () => isAway });
    const maintain = await follow();
    expect(events).toEqual(GREW.slice(0, 2));
    isAway = false;
    await maintain(signal);
    expect(events).toEqual([...GREW.slice(0, 2), ...GREW]);
  });

  test('expands a volume for one pod at a time', async () => {
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
