import { expect, test } from 'vitest';
import { SYSTEM_BUS, systemBusPath } from './system-bus.ts';

test.each([
  [undefined, SYSTEM_BUS],
  ['', SYSTEM_BUS],
  ['tcp:host=localhost,port=1', SYSTEM_BUS],
  ['unix:path=/a/b', '/a/b'],
  ['unix:guid=12,path=/a/b,x=y', '/a/b'],
  ['tcp:host=h;unix:path=/c', '/c'],
])('the bus of %j is at %s', (addresses, path) => expect(systemBusPath(addresses)).toBe(path));
