/** Where the server can be reached: names for its certificate, and the address that clients are told. */
import { networkInterfaces } from 'node:os';
import { nonSpecialIpFaults, parseIpRange } from '#api/meta/ip.ts';
import type { ServerConfig } from './config/settings.ts';
import { ipSpace } from './resources/core/allocation/spaces.ts';
import { vocabularyOf } from './wiring/core.ts';

const isAny = (address: string): boolean => address === '0.0.0.0' || address === '::';
const isAddress = (text: string): boolean => /^[\d.]+$/.test(text) || text.includes(':');

function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).filter(({ scopeid }) => (scopeid ?? 0) === 0).map(({ address }) => address),
  );
}

/** What is advertised, else what is bound, else loopback. */
function hostOf({ advertiseAddress, bindAddress }: ServerConfig): string {
  if (advertiseAddress !== '') return advertiseAddress;
  return isAny(bindAddress) ? '127.0.0.1' : bindAddress;
}

/** The address that other machines are told; loopback if there is no better one. */
export function advertisedAddress({ advertiseAddress, bindAddress }: ServerConfig): string {
  if (advertiseAddress !== '') return advertiseAddress;
  if (!isAny(bindAddress)) return bindAddress;
  return machineAddresses().find((address) => nonSpecialIpFaults(address).length === 0) ?? '127.0.0.1';
}

/** The address of the service that leads to the server: the first of those for services. */
export function ownServiceAddress({ serviceClusterIpRange: [range = ''] }: ServerConfig): string | undefined {
  const parsed = parseIpRange(range);
  const space = parsed === undefined ? undefined : ipSpace(parsed);
  return space === undefined || space.size === 0 ? undefined : space.textOf(0);
}

export function urlOf(config: ServerConfig, port: number): string {
  const host = hostOf(config);
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Names and addresses that the certificate is for. */
export function namesOf(config: ServerConfig): {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
} {
  const { apiService } = vocabularyOf(config);
  const services = ['', '.default', '.default.svc', '.default.svc.cluster.local'].map(
    (end) => `${apiService}${end}`,
  );
  const bound = isAny(config.bindAddress) ? machineAddresses() : [config.bindAddress];
  const service = ownServiceAddress(config) ?? [];
  const all = ['localhost', ...services, '127.0.0.1', ...bound, hostOf(config), ...config.certSANs].concat(
    service,
  );
  return {
    dnsNames: [...new Set(all.filter((each) => !isAddress(each)))],
    ipAddresses: [...new Set(all.filter(isAddress))],
  };
}
