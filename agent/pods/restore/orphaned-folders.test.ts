import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { RuntimeView } from '../../observe/runtime-view.ts';
import type { PodRecord } from '../record/record.ts';
import { runOrphanedDirectories } from './orphaned-folders.ts';

const HOUR_MS = 3_600_000;

describe('runOrphanedDirectories', () => {
  test('terminates pods of unknown directories that persist, and no others', async () => {
    const clock = createFakeClock();
    const known = new Set(['known']);
    const orphans: PodRecord[] = [];
    let onDisk = ['known', 'lost', 'starting'];
    const stop = new AbortController();
    const manager = {
      knows: (podUID: string) => known.has(podUID),
      killOrphan(record: PodRecord) {
        orphans.push(record);
        known.add(record.pod.metadata?.uid ?? '');
      },
    };
    const volumes = {
      podsOnDisk: async () => {
        const now = onDisk;
        known.add('starting');
        onDisk = ['known', 'lost', 'starting', 'new'];
        return now;
      },
    };
    const view = new RuntimeView();
    const running = runOrphanedDirectories({ view, manager, volumes, clock, log: silentLogger }, stop.signal);
    await clock.advance(HOUR_MS / 6);
    expect(orphans.map(({ pod }) => pod.metadata?.uid)).toEqual(['lost']);
    await clock.advance(HOUR_MS);
    expect(orphans.map(({ pod }) => pod.metadata?.uid)).toEqual(['lost', 'new']);
    stop.abort(new Error('over'));
    await running;
  });
});
