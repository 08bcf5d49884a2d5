import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { type ActualVolume, decideRefresh, decideSetUp, desiredVolumes } from './decide.ts';

const mount = (name: string): { volumeMounts: { name: string; mountPath: string }[] } => ({
  volumeMounts: [{ name, mountPath: `/${name}` }],
});
const pod: Pod = {
  spec: {
    volumes: [
      { name: 'unused', emptyDir: {} },
      { name: 'app', emptyDir: {} },
      { name: 'init' },
      { name: 'raw' },
    ],
    initContainers: [{ name: 'i', ...mount('init') }],
    containers: [
      { name: 'a', ...mount('app'), volumeDevices: [{ name: 'raw', devicePath: '/dev/x' }] },
      { name: 'b', ...mount('app') },
    ],
    ephemeralContainers: [{ name: 'e', ...mount('absent') }],
  },
};
const actual = (changes: boolean): ActualVolume => ({
  mounted: { name: 'x', hostPath: '/x', readOnly: false, seLinuxRelabel: false },
  changes,
});

describe('desiredVolumes', () => {
  test('lists each used volume once, and undefined ones', () => {
    expect(desiredVolumes(pod).map(({ name, block, volume }) => [name, block, volume !== undefined])).toEqual(
      [
        ['app', false, true],
        ['init', false, true],
        ['raw', true, true],
        ['absent', false, false],
      ],
    );
  });
  test('is empty for a pod without containers', () => expect(desiredVolumes({})).toEqual([]));
});

describe('decideSetUp', () => {
  const names = (ready: readonly string[]): string[] =>
    decideSetUp(desiredVolumes(pod), new Map(ready.map((name) => [name, actual(true)]))).map(
      ({ desired }) => desired.name,
    );
  test('sets up volumes that are not ready', () => {
    expect(names([])).toEqual(['app', 'init', 'raw', 'absent']);
    expect(names(['init', 'absent', 'other'])).toEqual(['app', 'raw']);
  });
});

describe('decideRefresh', () => {
  test('skips unchanging and unready volumes', () => {
    const ready = new Map([
      ['app', actual(true)],
      ['init', actual(false)],
      ['unused', actual(true)],
    ]);
    const operations = decideRefresh(desiredVolumes(pod), ready);
    expect(operations.map(({ kind, desired }) => [kind, desired.name])).toEqual([['refresh', 'app']]);
  });
});
