import { describe, expect, test } from 'vitest';
import { readBlkid } from './probe.ts';

describe('readBlkid', () => {
  test.each([
    ['DEVNAME=/dev/x\nUSAGE=filesystem\nTYPE=ext4\n', { kind: 'fileSystem', fsType: 'ext4' }],
    ['DEVNAME=/dev/x\nPTTYPE=gpt\n', { kind: 'other', what: 'a partition table (gpt)' }],
    // The table wins over the file system, since its partitions may contain data.
    ['TYPE=ext4\nUSAGE=filesystem\nPTTYPE=dos\n', { kind: 'other', what: 'a partition table (dos)' }],
    ['TYPE=LVM2_member\nUSAGE=raid\n', { kind: 'other', what: 'LVM2_member (raid)' }],
    ['TYPE=crypto_LUKS\nUSAGE=crypto\n', { kind: 'other', what: 'crypto_LUKS (crypto)' }],
    ['TYPE=swap\n', { kind: 'other', what: 'swap' }],
    ['', undefined],
    ['DEVNAME=/dev/x1\n', undefined],
  ])('reads %j', (text, content) => {
    expect(readBlkid(text)).toEqual(content);
  });
});
