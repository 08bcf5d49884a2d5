/** Lists and watches of custom resources at past versions, across restarts of the server and changes of their
 *  definition. Source: document 1 §4.5 and 4.6; apiextensions/v1. */
import { expect, test } from 'vitest';
import { type Defined, define, untilDefinition } from './definitions.ts';
import { usePlane, WAIT, type WatchStream } from './support.ts';

const plane = usePlane();

const watchFrom = (flans: Defined, revision: string): Promise<WatchStream> =>
  plane.watch(`${flans.collection()}?watch=1&resourceVersion=${revision}`);

const listAt = async (flans: Defined, revision: string): Promise<readonly (string | undefined)[]> => {
  const at = `resourceVersion=${revision}&resourceVersionMatch=Exact`;
  const { body } = await plane.get(`${flans.collection()}?${at}`);
  return body.items.map(({ metadata }) => metadata.name);
};

/** Changes of three objects, and the revision before them. */
async function changes(flans: Defined): Promise<string> {
  await flans.create('a', { a: '1' });
  await flans.create('b', { a: '1' });
  const since = await plane.revision();
  await flans.create('c', { a: '1' });
  await plane.patch(`${flans.collection()}/a`, { a: '2' });
  await plane.delete(`${flans.collection()}/b`);
  return since;
}

const CHANGES = ['ADDED c', 'MODIFIED a', 'DELETED b'];
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };

test('a watch goes on after a restart, without a gap and without an event given twice', async () => {
  const flans = await define(plane, { plural: 'flans', versions: [{ root: SCHEMA }] });
  const since = await changes(flans);
  await plane.server.restart();
  await using watch = await watchFrom(flans, since);
  expect(watch.status).toBe(200);
  expect(await watch.take(3)).toEqual(CHANGES);
  expect(await listAt(flans, since)).toEqual(['a', 'b']);
  await flans.create('d');
  expect(await watch.take(1)).toEqual(['ADDED d']);
  // Changes before and after the restart form one history.
  await using again = await watchFrom(flans, since);
  expect(await again.take(4)).toEqual([...CHANGES, 'ADDED d']);
});

test('a definition that is created, used and deleted before a restart leaves nothing behind', async () => {
  const pies = await define(plane, { plural: 'pies', versions: [{ root: SCHEMA }] });
  const since = await changes(pies);
  await plane.delete(pies.path);
  await expect.poll(async () => (await plane.get(pies.path)).status, { ...WAIT, interval: 5 }).toBe(404);
  await plane.server.restart();
  expect((await watchFrom(pies, since)).status).toBe(404);
  const again = await define(plane, { plural: 'pies', versions: [{ root: SCHEMA }] });
  expect((await plane.get(again.collection())).body.items).toEqual([]);
});

test('lists and watches of the past outlive a change of the schema, in what the new one says', async () => {
  const cakes = await define(plane, { plural: 'cakes', versions: [{ root: SCHEMA }] });
  const since = await changes(cakes);
  await using before = await plane.watch(`${cakes.collection()}?watch=1`);
  await before.take(2);
  const properties = { a: { type: 'string' }, b: { type: 'string', default: 'new' } };
  await cakes.change([
    { op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema/properties', value: properties },
  ]);
  await untilDefinition(plane, cakes.name, ({ metadata }) => metadata.generation === 2);
  // The server ends what began by the old schema, in good order: the client comes back from where it was.
  while ((await before.next()) !== undefined);
  await using watch = await watchFrom(cakes, since);
  expect(watch.status).toBe(200);
  const first = await watch.next();
  expect([first?.type, first?.object]).toMatchObject([
    'ADDED',
    { metadata: { name: 'c' }, a: '1', b: 'new' },
  ]);
  expect(await watch.take(2)).toEqual(CHANGES.slice(1));
  expect(await listAt(cakes, since)).toEqual(['a', 'b']);
  await cakes.create('d');
  expect(await watch.take(1)).toEqual(['ADDED d']);
});
