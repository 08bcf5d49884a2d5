/** Upstream's command-line client with an aggregated API group. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aggregate, type Extension, GROUP, NAME } from '../plane/extension-server.ts';
import { usePlane } from '../plane/support.ts';
import { useKubectl } from './kubectl.ts';

const plane = usePlane('kubernetes');
const { ok, fails, table } = useKubectl(() => plane.server.platconfigFile);
let extension: Extension;
beforeAll(async () => {
  extension = await aggregate(plane);
});
afterAll(() => extension[Symbol.asyncDispose]());

test('APIServices show which server serves a group', async () => {
  const rows = await table('get apiservices --no-headers');
  const byName = new Map(rows.map(([name = '', ...rest]) => [name, rest]));
  expect(byName.get('v1.apps')?.slice(0, 2)).toEqual(['Local', 'True']);
  expect(byName.get(NAME)?.slice(0, 2)).toEqual(['extensions/widgets', 'True']);
});

test('kinds of the other server are listed among the others', async () => {
  const rows = await table(`api-resources --api-group=${GROUP} --no-headers`);
  expect(rows).toEqual([
    ['gadgets', `${GROUP}/v1`, 'true', 'Gadget'],
    ['widgets', `${GROUP}/v1`, 'false', 'Widget'],
  ]);
});

test('its objects are created, shown and deleted', async () => {
  const input = { apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name: 'wheel' } };
  expect(await ok('create --validate=false -f -', { input })).toContain(`widget.${GROUP}/wheel created`);
  expect((await table('get widgets --no-headers')).map(([name]) => name)).toEqual(['wheel']);
  expect(await ok('get widget wheel -o name')).toBe(`widget.${GROUP}/wheel`);
  expect(await ok('delete widget wheel --wait=false')).toContain('deleted');
  expect(await fails('get widget wheel')).toContain('no such widget');
});
