/** Ranges of pod addresses for nodes, from the settings. Pure. Source: upstream's controller manager, release 1.24. */
import { type IpFamily, type IpRange, parseIpRange } from '#api/meta/ip.ts';
import type { NodeRanges } from '../controllers/skeleton/settings.ts';
import type { ServerConfig } from './settings.ts';

type Config = Pick<
  ServerConfig,
  | 'allocateNodeCidrs'
  | 'clusterCidr'
  | 'nodeCidrMaskSize'
  | 'nodeCidrMaskSizeIpv4'
  | 'nodeCidrMaskSizeIpv6'
  | 'serviceClusterIpRange'
>;

const DEFAULT_BITS: Readonly<Record<IpFamily, number>> = { IPv4: 24, IPv6: 64 };
const ADDRESS_BITS: Readonly<Record<IpFamily, number>> = { IPv4: 32, IPv6: 128 };
/** Most bits by which the prefix of a node is longer than that of the cluster. */
const MOST_BITS = 16;

const clusterRanges = ({ clusterCidr }: Config): readonly IpRange[] =>
  clusterCidr.flatMap((text) => parseIpRange(text) ?? []);

/** Flag and value of the prefix of a family's blocks. */
function maskOf(config: Config, family: IpFamily): { readonly flag: string; readonly bits: number } {
  const suffix = family.toLowerCase();
  const own = family === 'IPv4' ? config.nodeCidrMaskSizeIpv4 : config.nodeCidrMaskSizeIpv6;
  if (own === 0 && config.nodeCidrMaskSize !== 0)
    return { flag: '--node-cidr-mask-size', bits: config.nodeCidrMaskSize };
  return { flag: `--node-cidr-mask-size-${suffix}`, bits: own === 0 ? DEFAULT_BITS[family] : own };
}

function maskErrors(config: Config, range: IpRange): readonly string[] {
  const { flag, bits } = maskOf(config, range.family);
  const most = Math.min(ADDRESS_BITS[range.family], range.prefixBits + MOST_BITS);
  return bits >= range.prefixBits && bits <= most
    ? []
    : [`${flag}: ${bits} does not fit the --cluster-cidr; use a number from ${range.prefixBits} to ${most}`];
}

/** Returns every error of these settings. */
export function nodeRangeErrors(config: Config): readonly string[] {
  const { allocateNodeCidrs, clusterCidr, nodeCidrMaskSize } = config;
  const errors = clusterCidr
    .filter((text) => parseIpRange(text) === undefined)
    .map((text) => `--cluster-cidr: ${JSON.stringify(text)} is not a range; use one such as 10.244.0.0/16`);
  if (allocateNodeCidrs && clusterCidr.length === 0)
    errors.push('--allocate-node-cidrs requires --cluster-cidr');
  const ranges = clusterRanges(config);
  if (ranges.length > 2 || new Set(ranges.map(({ family }) => family)).size < ranges.length)
    errors.push('--cluster-cidr: at most two ranges, one of each family');
  const hasOwn = config.nodeCidrMaskSizeIpv4 !== 0 || config.nodeCidrMaskSizeIpv6 !== 0;
  if (nodeCidrMaskSize !== 0 && hasOwn)
    errors.push('--node-cidr-mask-size and those of a family exclude each other');
  if (nodeCidrMaskSize !== 0 && ranges.length > 1)
    errors.push('--node-cidr-mask-size: with two ranges use --node-cidr-mask-size-ipv4 and -ipv6');
  if (errors.length > 0) return errors;
  return ranges.flatMap((range) => maskErrors(config, range));
}

/** Returns the ranges of valid settings; `undefined`: nodes get none. */
export function nodeRangesOf(config: Config): NodeRanges | undefined {
  if (!config.allocateNodeCidrs) return undefined;
  return {
    cluster: clusterRanges(config).map((range) => ({ range, blockBits: maskOf(config, range.family).bits })),
    excluded: config.serviceClusterIpRange.flatMap((text) => parseIpRange(text) ?? []),
  };
}
