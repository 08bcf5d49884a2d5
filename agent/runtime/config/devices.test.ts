import { describe, expect, test } from 'vitest';
import type { MountedVolume } from '#volumes/contract/volume-manager.ts';
import { containerDevices, type DevicesInput } from './mounts.ts';

const DISK: MountedVolume = {
  name: 'disk',
  hostPath: '/pods/p/volumeDevices/x/disk',
  readOnly: false,
  seLinuxRelabel: false,
};

const input = (devicePath: string, disk: MountedVolume = DISK): DevicesInput => ({
  container: { name: 'app', volumeDevices: [{ name: 'disk', devicePath }] },
  volumes: new Map([['disk', disk]]),
});

describe('containerDevices', () => {
  test.each<[string, DevicesInput, object]>([
    [
      'everything of a device',
      input('/dev/xvda'),
      { containerPath: '/dev/xvda', hostPath: DISK.hostPath, permissions: 'mrw' },
    ],
    ['a read-only device', input('/dev/xvda', { ...DISK, readOnly: true }), { permissions: 'r' }],
    ['a relative path from the root', input('dev/xvda'), { containerPath: '/dev/xvda' }],
  ])('gives %s', (_, given, expected) => {
    expect(containerDevices(given)).toMatchObject({ kind: 'ok', devices: [expected] });
  });

  test('returns none for a container without block volumes', () => {
    expect(containerDevices({ container: { name: 'app' }, volumes: new Map() })).toEqual({
      kind: 'ok',
      devices: [],
    });
  });

  test('reports an unmapped device', () => {
    expect(containerDevices({ ...input('/dev/x'), volumes: new Map() })).toEqual({
      kind: 'error',
      message: 'block volume disk of container app is not mapped',
    });
  });
});
