/** Several API servers on one etcd: a definition made at one is served by all. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EtcdCluster, startEtcd } from '#plane/store/etcd.fixture.ts';
import { define, definition, definitions, holds, untilDefinition, untilGone } from './definitions.ts';
import { type Plane, usePlane } from './support.ts';

let etcd: EtcdCluster;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd[Symbol.asyncDispose]());

const flags = (): Promise<readonly string[]> => Promise.resolve(['--etcd-servers', etcd.urls.join()]);
const left = usePlane('plat', flags);
const right = usePlane('plat', flags);

/** Waits until a server has seen another one's write. */
async function untilSeen(plane: Plane, name: string): Promise<void> {
  await untilDefinition(plane, name, (body) => holds(body, 'Established'));
}

test('what is defined at one server is served by the other, as it changes', async () => {
  const cakes = await define(left, {
    plural: 'cakes',
    versions: [{ properties: { a: { type: 'string' } } }],
  });
  await untilSeen(right, cakes.name);
  expect((await right.post(cakes.collection(), cakes.object('c', { a: '1', b: 2 }))).body).toMatchObject({
    a: '1',
  });
  await using watch = await right.watch(`${cakes.collection()}?watch=1`);
  expect(await watch.take(1)).toEqual(['ADDED c']);
  await cakes.change([
    {
      op: 'add',
      path: '/spec/versions/0/schema/openAPIV3Schema/properties/d',
      value: { type: 'integer', default: 4 },
    },
  ]);
  expect(await watch.next()).toBeUndefined();
  expect((await right.get(`${cakes.collection()}/c`)).body).toMatchObject({ a: '1', d: 4 });
  await right.delete(cakes.path);
  await Promise.all([untilGone(left, cakes.name), untilGone(right, cakes.name)]);
  for (const plane of [left, right]) expect((await plane.get(cakes.collection())).status).toBe(404);
});

test('of two definitions with one name, created at two servers at once, one gets it', async () => {
  const path = definitions(left);
  const shapes = [
    { plural: 'pies', kind: 'Same' },
    { plural: 'tarts', kind: 'Same' },
  ] as const;
  await Promise.all([
    left.post(path, definition(left, shapes[0])),
    right.post(path, definition(right, shapes[1])),
  ]);
  const decided = await Promise.all(
    shapes.map(({ plural }) =>
      untilDefinition(
        right,
        `${plural}.shop.example`,
        (body) => holds(body, 'NamesAccepted') || holds(body, 'NamesAccepted', 'False'),
      ),
    ),
  );
  expect(decided.filter((body) => holds(body, 'Established'))).toHaveLength(1);
});
