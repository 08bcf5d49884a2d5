/** Upstream's command-line client with custom resources: it defines a kind and manages its objects. */
import { expect, test } from 'vitest';
import { definition } from '../plane/definitions.ts';
import { type Json, usePlane } from '../plane/support.ts';
import { useKubectl } from './kubectl.ts';

const plane = usePlane('kubernetes');
const { ok, fails, json, table, start } = useKubectl(() => plane.server.platconfigFile);

const properties = {
  spec: {
    type: 'object',
    required: ['flavor'],
    properties: {
      flavor: { type: 'string', pattern: '^[a-z]+$' },
      pieces: { type: 'integer', minimum: 1, maximum: 12, default: 8 },
    },
  },
  status: { type: 'object', properties: { pieces: { type: 'integer' } } },
};
const more = {
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.pieces', statusReplicasPath: '.status.pieces' },
  },
  additionalPrinterColumns: [
    { name: 'Flavor', type: 'string', jsonPath: '.spec.flavor' },
    { name: 'Pieces', type: 'integer', jsonPath: '.spec.pieces', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};
const names = { shortNames: ['ck'], categories: ['all'] };
const cake = (name: string, spec: Json): Json => ({
  apiVersion: 'shop.example/v1',
  kind: 'Cake',
  metadata: { name },
  spec,
});

test('a definition is applied, waited for, used, and deleted with its objects', async () => {
  const given = definition(plane, { plural: 'cakes', names, versions: [{ properties, more }] });
  const kind = `customresourcedefinition.apiextensions.${plane.words.apiGroupDomain}/cakes.shop.example`;
  expect(await ok('apply -f -', { input: given })).toBe(`${kind} created`);
  expect(await ok('wait --for=condition=Established --timeout=10s crd/cakes.shop.example')).toBe(
    `${kind} condition met`,
  );
  expect(await ok('apply -f -', { input: given })).toBe(`${kind} unchanged`);
  expect(await table('api-resources --api-group=shop.example --no-headers')).toEqual([
    ['cakes', 'ck', 'shop.example/v1', 'true', 'Cake'],
  ]);

  expect(await ok('apply -f -', { input: cake('tart', { flavor: 'plum' }) })).toBe(
    'cake.shop.example/tart created',
  );
  const errors = await fails('create --validate=false -f -', {
    input: cake('bad', { flavor: 'PLUM', pieces: 13 }),
  });
  expect(errors).toContain('The Cake "bad" is invalid');
  expect(errors).toContain('spec.flavor');
  expect(errors).toContain('spec.pieces');

  await using watching = start('get ck --watch --no-headers');
  expect(await watching.line()).toMatch(/^tart plum \d+s$/);
  const [header, row] = await table('get ck -o wide');
  expect(header).toEqual(['NAME', 'FLAVOR', 'PIECES', 'AGE']);
  expect(row?.slice(0, 3)).toEqual(['tart', 'plum', '8']);
  expect((await table('get all --no-headers')).some(([name]) => name === 'cake.shop.example/tart')).toBe(
    true,
  );

  expect(await ok('scale ck/tart --replicas=3')).toBe('cake.shop.example/tart scaled');
  expect(await watching.line()).toMatch(/^tart plum/);
  expect(await ok(['patch', 'cake', 'tart', '--type=merge', '-p', '{"spec":{"flavor":"lemon"}}'])).toBe(
    'cake.shop.example/tart patched',
  );
  expect((await json('get cakes tart')).spec).toEqual({ flavor: 'lemon', pieces: 3 });
  expect(await ok('label cake tart sweet=yes')).toBe('cake.shop.example/tart labeled');
  expect(await ok('get ck -l sweet=yes -o name')).toBe('cake.shop.example/tart');
  expect(await ok('explain cake.spec')).toContain('flavor');
  expect(await ok('describe cake tart')).toContain('Flavor:  lemon');
  expect(
    await ok('apply --server-side --force-conflicts -f -', { input: cake('tart', { flavor: 'pear' }) }),
  ).toBe('cake.shop.example/tart serverside-applied');
  expect((await json('get cakes tart')).spec).toEqual({ flavor: 'pear', pieces: 3 });

  expect(await ok('delete crd cakes.shop.example --timeout=10s')).toContain('"cakes.shop.example" deleted');
  expect(await fails('get cakes.shop.example')).toMatch(/doesn't have a resource type|NotFound/);
});
