/** Addresses of the server: names for its certificate, and the address advertised to clients. */
import { networkInterfaces } from 'node:os';
import { nonSpecialIpErrors, parseIpRange } from '#api/meta/ip.ts';
import type { ServerConfig } from '../config/settings.ts';
import { vocabularyOf } from '../config/vocabulary.ts';
import { ipSpace } from '../resources/core/allocation/spaces.ts';

const isAny = (address: string): boolean => address === '0.0.0.0' || address === '::';
const isAddress = (text: string): boolean => /^[\d.]+$/.test(text) || text.includes(':');

function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).filter(({ scopeid }) => (scopeid ?? 0) === 0).map(({ address }) => address),
  );
}

/** Returns the advertised address, else the bound one, else loopback. */
function hostOf({ advertiseAddress, bindAddress }: ServerConfig): string {
  if (advertiseAddress !== '') return advertiseAddress;
  return isAny(bindAddress) ? '127.0.0.1' : bindAddress;
}

/** Returns the address for other machines; loopback if there is no better one. */
export function advertisedAddress({ advertiseAddress, bindAddress }: ServerConfig): string {
  if (advertiseAddress !== '') return advertiseAddress;
  if (!isAny(bindAddress)) return bindAddress;
  return machineAddresses().find((address) => nonSpecialIpErrors(address).length === 0) ?? '127.0.0.1';
}

/** Returns the cluster IP of the `kubernetes` Service: the first of the service range. */
export function kubernetesServiceAddress({
  serviceClusterIpRange: [range = ''],
}: ServerConfig): string | undefined {
  const parsed = parseIpRange(range);
  const space = parsed === undefined ? undefined : ipSpace(parsed);
  return space === undefined || space.size === 0 ? undefined : space.textOf(0);
}

export function urlOf(config: ServerConfig, port: number): string {
  const host = hostOf(config);
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Returns the names and addresses of the certificate. */
export function namesOf(config: ServerConfig): {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
} {
  const { apiService } = vocabularyOf(config);
  const services = ['', '.default', '.default.svc', '.default.svc.cluster.local'].map(
    (end) => `${apiService}${end}`,
  );
  const bound = isAny(config.bindAddress) ? machineAddresses() : [config.bindAddress];
  const service = kubernetesServiceAddress(config) ?? [];
  const all = ['localhost', ...services, '127.0.0.1', ...bound, hostOf(config), ...config.certSANs].concat(
    service,
  );
  return {
    dnsNames: [...new Set(all.filter((each) => !isAddress(each)))],
    ipAddresses: [...new Set(all.filter(isAddress))],
  };
}
