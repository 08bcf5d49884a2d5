import { describe, expect, test } from 'vitest';
import { goArchitecture } from './architecture.ts';
import { countCpus } from './cpu-list.ts';
import { hugePageSizeBytes, totalMemoryBytes } from './memory.ts';
import { osImageOf } from './os-release.ts';
import { parseRoutes, parseRoutes6 } from './routes.ts';

describe('countCpus', () => {
  test.each([
    ['0', 1],
    ['0-3', 4],
    ['0-3,8,10-11\n', 7],
    ['0-3,2-5', 6],
    ['', 0],
    ['x-1', 0],
  ])('%j names %d', (list, count) => {
    expect(countCpus(list)).toBe(count);
  });
});

describe('totalMemoryBytes', () => {
  test.each([
    ['MemTotal:       24684096 kB\nMemFree:        23459628 kB\n', 24_684_096 * 1024],
    ['MemFree:        23459628 kB\n', undefined],
    ['', undefined],
  ])('%j', (text, bytes) => {
    expect(totalMemoryBytes(text)).toBe(bytes);
  });
});

describe('hugePageSizeBytes', () => {
  test.each([
    ['hugepages-2048kB', 2 * 1024 ** 2],
    ['hugepages-1048576kB', 1024 ** 3],
    ['other', undefined],
  ])('%s', (name, bytes) => {
    expect(hugePageSizeBytes(name)).toBe(bytes);
  });
});

describe('osImageOf', () => {
  test.each([
    [
      'a quoted name',
      'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
      'Debian GNU/Linux 12 (bookworm)',
    ],
    ['single quotes', "PRETTY_NAME='Some OS'\n", 'Some OS'],
    ['no quotes, and space after it', 'PRETTY_NAME=Alpine \n', 'Alpine'],
    ['escapes', 'PRETTY_NAME="A \\"B\\" \\$C"\n', 'A "B" $C'],
    ['the short name alone', 'NAME=Void\nID=void\n', 'Void'],
    ['an empty name', 'PRETTY_NAME=""\nNAME=X\n', 'X'],
    ['nothing', '', 'Unknown'],
    ['a comment', '#PRETTY_NAME=no\n', 'Unknown'],
  ])('%s', (_, text, name) => {
    expect(osImageOf(text)).toBe(name);
  });
});

const ROUTES = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	100	00000000	0	0	0
wlan0	00000000	010200C0	0003	0	0	600	00000000	0	0	0
down0	00000000	010200C0	0002	0	0	0	00000000	0	0	0
none0	00000000	00000000	0201	0	0	0	00000000	0	0	0
half0	00000000	00000000	0001	0	0	0	00000080	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
`;
const ZEROS = '0'.repeat(32);
const GATEWAY = 'fe800000000000000000000000000001';
const ROUTES6 = [
  `20010db8000000000000000000000000 40 ${ZEROS} 00 ${ZEROS} 00000100 00000001 00000000 00000001 eth0`,
  `${ZEROS} 00 ${ZEROS} 00 ${GATEWAY} 00000400 00000001 00000000 00000003 eth0`,
  `${ZEROS} 00 ${ZEROS} 00 ${ZEROS} ffffffff 00000001 00000000 00200200 lo`,
  `${ZEROS} 00 ${ZEROS} 00 ${ZEROS} 00000001 00000001 00000000 00200201 eth1`,
  '',
].join('\n');

describe('parseRoutes', () => {
  test('finds usable default routes', () => {
    expect(parseRoutes(ROUTES)).toEqual([
      { interfaceName: 'eth0', family: 'IPv4', metric: 100 },
      { interfaceName: 'wlan0', family: 'IPv4', metric: 600 },
    ]);
    expect(parseRoutes6(ROUTES6)).toEqual([{ interfaceName: 'eth0', family: 'IPv6', metric: 1024 }]);
  });

  test('finds none in an empty table', () => {
    expect([...parseRoutes(''), ...parseRoutes6('')]).toEqual([]);
  });
});

describe('goArchitecture', () => {
  test.each([
    ['x64', 'amd64'],
    ['arm64', 'arm64'],
    ['ppc64', 'ppc64le'],
    ['s390x', 's390x'],
  ])('%s is %s', (arch, name) => {
    expect(goArchitecture(arch)).toBe(name);
  });
});
