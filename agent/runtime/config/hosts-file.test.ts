import { expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { hostNetworkHostsFile, podHostsFile } from './hostname.ts';

const HEADER = VOCABULARIES.plat.managedHostsHeader;
const LOCAL = `${HEADER}.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
ff00::0\tip6-mcastprefix
ff02::1\tip6-allnodes
ff02::2\tip6-allrouters
`;
const BASE = { vocabulary: VOCABULARIES.plat, podIPs: ['10.1.0.7'], hostname: 'web', domain: '' };

test.each([
  ['one address', BASE, '10.1.0.7\tweb\n'],
  ['a domain', { ...BASE, domain: 'sub.shop.svc' }, '10.1.0.7\tweb.sub.shop.svc\tweb\n'],
  ['two addresses', { ...BASE, podIPs: ['10.1.0.7', 'fd00::7'] }, '10.1.0.7\tweb\nfd00::7\tweb\n'],
  [
    'aliases',
    { ...BASE, hostAliases: [{ ip: '192.0.2.1', hostnames: ['a', 'b'] }] },
    '10.1.0.7\tweb\n\n# Entries added by HostAliases.\n192.0.2.1\ta\tb\n',
  ],
])('a pod with %s', (_, input, expected) => {
  expect(podHostsFile(input)).toBe(`${LOCAL}${expected}`);
});

test.each([
  ['127.0.0.1 localhost\n', [], '127.0.0.1 localhost\n'],
  [
    '127.0.0.1 localhost',
    [{ ip: '192.0.2.1', hostnames: ['a'] }],
    '127.0.0.1 localhost\n\n# Entries added by HostAliases.\n192.0.2.1\ta\n',
  ],
  ['', [], ''],
])('host networking includes the file %j', (nodeFile, aliases, expected) => {
  expect(hostNetworkHostsFile(VOCABULARIES.plat, nodeFile, aliases)).toBe(
    `${HEADER} (host network).\n${expected}`,
  );
});
