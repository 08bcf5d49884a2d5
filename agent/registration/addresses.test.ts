import { describe, expect, test } from 'vitest';
import { MACHINE } from '../machine/machine.fixture.ts';
import type { NetworkFacts } from '../machine/types.ts';
import { decideAddresses } from './addresses.ts';

const { network } = MACHINE;
const lone: NetworkFacts = { ...network, defaultRoutes: [] };
const v6Only: NetworkFacts = {
  ...network,
  defaultRoutes: network.defaultRoutes.filter(({ family }) => family === 'IPv6'),
};

describe('decideAddresses', () => {
  test.each<readonly [string, string, string, NetworkFacts, readonly string[]]>([
    ['the interface of the best way out', '', 'n1', network, ['10.0.0.5']],
    ['the IPv6 one where that is preferred', '::', 'n1', network, ['2001:db8::5']],
    ['the IPv4 one where that is preferred', '0.0.0.0', 'n1', network, ['10.0.0.5']],
    ['IPv6 where there is nothing else', '', 'n1', v6Only, ['2001:db8::5']],
    ['the one wished', '10.9.0.5', 'n1', network, ['10.9.0.5']],
    ['both wished, in their order', '2001:db8:0::5, 10.0.0.5', 'n1', network, ['2001:db8:0::5', '10.0.0.5']],
    ['a name that is an address', '', '10.7.7.7', network, ['10.7.7.7']],
    ['what the resolver knows', '', 'n1', { ...network, resolved: ['10.9.0.5'] }, ['10.9.0.5']],
    [
      'no address of others from the resolver',
      '',
      'n1',
      { ...network, resolved: ['127.0.1.1', '10.99.0.1'] },
      ['10.0.0.5'],
    ],
    [
      'the family preferred from the resolver',
      '::',
      'n1',
      { ...network, resolved: ['10.9.0.5', '2001:db8::5'] },
      ['2001:db8::5'],
    ],
  ])('takes %s', (_, nodeIP, hostname, facts, found) => {
    const addresses = found.map((address) => ({ type: 'InternalIP', address }));
    expect(decideAddresses({ nodeIP, hostname }, facts)).toEqual({
      kind: 'found',
      addresses: [...addresses, { type: 'Hostname', address: hostname }],
    });
  });

  test.each([
    ['127.0.0.1', network, /loopback/],
    ['169.254.1.1', network, /link-local/],
    ['224.0.0.1', network, /multicast/],
    ['10.99.0.1', network, /does not belong to an interface/],
    ['10.0.0.5,2001:db8::6', network, /2001:db8::6 does not belong to an interface/],
    ['', lone, /no interface with a default route/],
  ])('reports why there is none: %j', (nodeIP, facts, message) => {
    const decision = decideAddresses({ nodeIP, hostname: 'n1' }, facts);
    expect(decision).toEqual({ kind: 'none', message: expect.stringMatching(message) as unknown });
  });
});
