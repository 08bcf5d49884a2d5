/** Validation of addresses, names and packet marks. */
import { isIP } from 'node:net';
import { dns1123SubdomainErrors } from '#api/meta/names.ts';
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

/** Maximum number of name servers in a resolver file. */
const MAX_NAME_SERVERS = 3;

function isCIDR(text: string): boolean {
  const match = /^(?<ip>[^/]+)\/(?<bits>\d{1,3})$/.exec(text)?.groups;
  const family = isIP(match?.['ip'] ?? '');
  return family !== 0 && Number(match?.['bits']) <= (family === 4 ? 32 : 128);
}

function checkDNS({ clusterDNS, clusterDomain }: AgentConfig): readonly ConfigFieldError[] {
  const errors = clusterDNS.flatMap((address, index) =>
    isIP(address) === 0
      ? [
          errorOf('clusterDNS', 'must be an IP address such as 10.96.0.10', {
            badValue: address,
            path: `[${index}]`,
          }),
        ]
      : [],
  );
  if (clusterDNS.length > MAX_NAME_SERVERS) {
    const detail = `must have at most ${MAX_NAME_SERVERS} addresses, the limit of resolvers`;
    errors.push(errorOf('clusterDNS', detail, { kind: 'FieldValueTooMany', badValue: clusterDNS }));
  }
  const domain = clusterDomain.replace(/\.$/, '');
  if (domain === '') return errors;
  const named = dns1123SubdomainErrors(domain);
  return [...errors, ...named.map((detail) => errorOf('clusterDomain', detail, { badValue: clusterDomain }))];
}

/** Returns the validation errors of the network settings. */
export function validateNetwork(config: AgentConfig): readonly ConfigFieldError[] {
  const errors = [...checkDNS(config)];
  const ranges = config.podCIDR === '' ? [] : config.podCIDR.split(',');
  if (!ranges.every(isCIDR)) {
    errors.push(
      errorOf('podCIDR', 'must be an address range such as 10.88.0.0/16', { badValue: config.podCIDR }),
    );
  }
  if (config.nonMasqueradeCidr !== '' && !isCIDR(config.nonMasqueradeCidr)) {
    const badValue = config.nonMasqueradeCidr;
    errors.push(errorOf('nonMasqueradeCidr', 'must be an address range such as 10.0.0.0/8', { badValue }));
  }
  if (config.iptablesDropBit === config.iptablesMasqueradeBit) {
    const detail = 'must differ from iptablesMasqueradeBit';
    const badValue = config.iptablesDropBit;
    errors.push(errorOf('iptablesDropBit', detail, { badValue, others: ['iptablesMasqueradeBit'] }));
  }
  for (const key of ['address', 'healthzBindAddress'] as const) {
    if (isIP(config[key]) === 0)
      errors.push(errorOf(key, 'must be an IP address', { badValue: config[key] }));
  }
  return errors;
}
