/** Pod network of the managed containerd: a private bridge whose subnet overlaps no existing route.
 *  Decides and renders only; the caller reads routes and writes the file. */
import { createHash } from 'node:crypto';

export interface PodNetwork {
  /** Name of the network and of the file; key of the state of the CNI plugins. */
  readonly name: string;
  /** Interface name of the bridge, at most 15 characters. */
  readonly bridge: string;
  /** Address ranges of pods, `a.b.c.0/24`; at most one of each address family. */
  readonly subnets: readonly string[];
  readonly hairpinMode: HairpinMode;
  /** Directory of the address leases of host-local. */
  readonly leaseDir: string;
}

/** How a pod reaches itself through a service: not at all, by a bridge that accepts all packets, or by bridge
 *  ports that send packets back. Source: upstream's flag `--hairpin-mode`. */
export const HAIRPIN_MODES = ['promiscuous-bridge', 'hairpin-veth', 'none'] as const;
export type HairpinMode = (typeof HAIRPIN_MODES)[number];

/** An IPv4 route: network address and mask as unsigned 32-bit numbers. */
export interface Route {
  readonly device: string;
  readonly network: number;
  readonly mask: number;
}

/** No subnet of the private range is free. */
export class NoFreeSubnetError extends Error {
  constructor() {
    super('no /24 network in 10.88.0.0/13 is free of existing routes; give the agent a CNI configuration');
    this.name = 'NoFreeSubnetError';
  }
}

/** Candidates are the 2048 networks of 10.88.0.0/13, which home routers and VPNs rarely use. */
const FIRST_CANDIDATE = (10 << 24) | (88 << 16);
const CANDIDATES = 2048;
const MASK_24 = 0xffffff00;

/** Parses `/proc/net/route`; lines that are not routes are skipped. */
export function parseRoutes(text: string): readonly Route[] {
  return text.split('\n').flatMap((line) => {
    const [device, destination, , , , , , mask] = line.split('\t');
    if (device === undefined || !isHexWord(destination) || !isHexWord(mask)) return [];
    return [{ device, network: fromHostOrder(destination), mask: fromHostOrder(mask) }];
  });
}

function isHexWord(text: string | undefined): text is string {
  return text !== undefined && /^[0-9A-F]{8}$/i.test(text);
}

/** The kernel prints the bytes of an address as a little-endian number. */
function fromHostOrder(hex: string): number {
  return Buffer.from(hex, 'hex').readUInt32LE(0);
}

/** Returns a /24 that overlaps no route but the default one and the bridge's own. The search starts at a hash
 *  of the name, so that a name retains its subnet and two names rarely collide.
 *  @throws NoFreeSubnetError */
export function chooseSubnet(name: string, bridge: string, routes: readonly Route[]): string {
  const taken = routes.filter((route) => route.mask !== 0 && route.device !== bridge);
  const start = createHash('sha256').update(name).digest().readUInt16BE(0) % CANDIDATES;
  for (let offset = 0; offset < CANDIDATES; offset += 1) {
    const network = (FIRST_CANDIDATE + (((start + offset) % CANDIDATES) << 8)) >>> 0;
    if (!taken.some((route) => overlaps(network, MASK_24, route))) return formatSubnet(network);
  }
  throw new NoFreeSubnetError();
}

function overlaps(network: number, mask: number, route: Route): boolean {
  const common = mask & route.mask;
  return (network & common) === (route.network & common);
}

function formatSubnet(network: number): string {
  const bytes = [network >>> 24, (network >>> 16) & 255, (network >>> 8) & 255, network & 255];
  return `${bytes.join('.')}/24`;
}

/** Returns the interface name of the bridge for an agent of this name. */
export function bridgeName(name: string): string {
  return `na-${createHash('sha256').update(name).digest('hex').slice(0, 10)}`;
}

/** Returns the CNI network configuration list.
 *  @see https://www.cni.dev/docs/spec/ section 1 */
export function renderConflist(network: PodNetwork): string {
  const { subnets, hairpinMode } = network;
  const list = {
    cniVersion: '0.4.0',
    name: network.name,
    plugins: [
      {
        type: 'bridge',
        bridge: network.bridge,
        isGateway: true,
        // The gateway's address changes with the range.
        forceAddress: true,
        ipMasq: true,
        hairpinMode: hairpinMode === 'hairpin-veth',
        promiscMode: hairpinMode === 'promiscuous-bridge',
        ipam: {
          type: 'host-local',
          dataDir: network.leaseDir,
          ranges: subnets.map((subnet) => [{ subnet }]),
          routes: [...new Set(subnets.map(defaultRoute))].map((dst) => ({ dst })),
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
  return `${JSON.stringify(list, undefined, 2)}\n`;
}

const defaultRoute = (subnet: string): string => (subnet.includes(':') ? '::/0' : '0.0.0.0/0');

/** The part of a configuration list that the agent may have changed. */
export type NetworkChoice = Pick<PodNetwork, 'subnets' | 'hairpinMode'>;

/** Returns the choices of an existing configuration list, or undefined when there are none to retain. */
export function choicesOfConflist(text: string): NetworkChoice | undefined {
  const subnets = [...text.matchAll(/"subnet":\s*"([0-9a-fA-F.:]{2,39}\/\d{1,3})"/g)].map(
    (found) => found[1] ?? '',
  );
  if (subnets.length === 0) return undefined;
  if (/"promiscMode":\s*true/.test(text)) return { subnets, hairpinMode: 'promiscuous-bridge' };
  return { subnets, hairpinMode: /"hairpinMode":\s*true/.test(text) ? 'hairpin-veth' : 'none' };
}
