import { describe, expect, test } from 'vitest';
import { partitionPath } from './partition.ts';

describe('partitionPath', () => {
  test.each([
    ['/dev/sda', 1, '/dev/sda1'],
    ['/dev/xvdf', 12, '/dev/xvdf12'],
    ['/dev/nvme0n1', 1, '/dev/nvme0n1p1'],
    ['/dev/loop0', 2, '/dev/loop0p2'],
    ['/dev/mmcblk0', 3, '/dev/mmcblk0p3'],
    ['/dev/disk/by-id/scsi-0Google_disk9', 1, '/dev/disk/by-id/scsi-0Google_disk9-part1'],
    [
      '/dev/disk/by-path/ip-10.0.0.1:3260-iscsi-iqn-lun-1',
      4,
      '/dev/disk/by-path/ip-10.0.0.1:3260-iscsi-iqn-lun-1-part4',
    ],
    ['/dev/mapper/mpatha', 1, '/dev/mapper/mpatha-part1'],
  ])('%s, %d', (device, partition, path) => {
    expect(partitionPath(device, partition)).toBe(path);
  });

  test.each([0, -1, 1.5, 257, Number.NaN])('rejects %d', (partition) => {
    expect(() => partitionPath('/dev/sda', partition)).toThrow('is not a number from 1 to 256');
  });
});
