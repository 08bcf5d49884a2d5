import { describe, expect, test } from 'vitest';
import { formatIpRange } from '#api/meta/ip.ts';
import { nodeRangeErrors, nodeRangesOf } from './node-ranges.ts';

const DEFAULTS = {
  allocateNodeCidrs: true,
  clusterCidr: ['10.244.0.0/16'],
  nodeCidrMaskSize: 0,
  nodeCidrMaskSizeIpv4: 0,
  nodeCidrMaskSizeIpv6: 0,
  serviceClusterIpRange: ['10.0.0.0/24'],
};

describe('nodeRangeErrors', () => {
  test.each<[Partial<typeof DEFAULTS>, string]>([
    [{ clusterCidr: [] }, '--allocate-node-cidrs requires --cluster-cidr'],
    [
      { clusterCidr: ['10.244.0.0'] },
      '--cluster-cidr: "10.244.0.0" is not a range; use one such as 10.244.0.0/16',
    ],
    [
      { clusterCidr: ['10.1.0.0/16', '10.2.0.0/16'] },
      '--cluster-cidr: at most two ranges, one of each family',
    ],
    [
      { nodeCidrMaskSize: 24, nodeCidrMaskSizeIpv4: 25 },
      '--node-cidr-mask-size and those of a family exclude each other',
    ],
    [
      { nodeCidrMaskSize: 24, clusterCidr: ['10.1.0.0/16', 'fd00::/56'] },
      '--node-cidr-mask-size: with two ranges use --node-cidr-mask-size-ipv4 and -ipv6',
    ],
    [
      { nodeCidrMaskSize: 12 },
      '--node-cidr-mask-size: 12 does not fit the --cluster-cidr; use a number from 16 to 32',
    ],
    [
      { clusterCidr: ['10.0.0.0/8'], nodeCidrMaskSizeIpv4: 26 },
      '--node-cidr-mask-size-ipv4: 26 does not fit the --cluster-cidr; use a number from 8 to 24',
    ],
    [
      { clusterCidr: ['fd00::/40'] },
      '--node-cidr-mask-size-ipv6: 64 does not fit the --cluster-cidr; use a number from 40 to 56',
    ],
  ])('%j', (changes, expected) => {
    expect(nodeRangeErrors({ ...DEFAULTS, ...changes })).toEqual([expected]);
  });

  test('without allocation a range may be given or not', () => {
    expect(nodeRangeErrors({ ...DEFAULTS, allocateNodeCidrs: false, clusterCidr: [] })).toEqual([]);
    expect(nodeRangeErrors(DEFAULTS)).toEqual([]);
  });
});

describe('nodeRangesOf', () => {
  test.each<[Partial<typeof DEFAULTS>, readonly string[]]>([
    [{}, ['10.244.0.0/16 by 24']],
    [{ nodeCidrMaskSize: 26 }, ['10.244.0.0/16 by 26']],
    [{ clusterCidr: ['fd00::/48'] }, ['fd00::/48 by 64']],
    [
      { clusterCidr: ['fd00::/48', '10.244.0.0/16'], nodeCidrMaskSizeIpv4: 25, nodeCidrMaskSizeIpv6: 60 },
      ['fd00::/48 by 60', '10.244.0.0/16 by 25'],
    ],
  ])('%j', (changes, expected) => {
    const ranges = nodeRangesOf({ ...DEFAULTS, ...changes });
    expect(ranges?.cluster.map(({ range, blockBits }) => `${formatIpRange(range)} by ${blockBits}`)).toEqual(
      expected,
    );
    expect(ranges?.excluded.map(formatIpRange)).toEqual(['10.0.0.0/24']);
  });

  test('is nothing without allocation', () => {
    expect(nodeRangesOf({ ...DEFAULTS, allocateNodeCidrs: false })).toBeUndefined();
  });
});
