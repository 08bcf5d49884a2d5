/** Discovery and `explain` of upstream's command-line client, for built-in and custom kinds. */
import { beforeAll, describe, expect, test } from 'vitest';
import { usePlane } from '../plane/support.ts';
import { useKubectl } from './kubectl.ts';

const plane = usePlane('kubernetes');
const { ok, fails, json, table, start } = useKubectl(() => plane.server.platconfigFile);

describe('explain', () => {
  test.each([
    ['pod', /KIND: +Pod\nVERSION: +v1\n[\s\S]*\bspec\t<(PodSpec|Object)>/],
    ['pod.spec.containers.image', /image <string>|FIELD: +image <string>/],
    ['deployment.spec.strategy.rollingUpdate', /maxSurge\t<(IntOrString|string)>/],
    ['horizontalpodautoscaler --api-version=autoscaling/v1', /VERSION: +(autoscaling\/)?v1\n/],
  ])('%s', async (what, expected) => {
    expect(await ok(`explain ${what}`)).toMatch(expected);
  });

  test('every member below, and none that there is not', async () => {
    const [below, none] = await Promise.all([
      ok('explain cronjob.spec --recursive'),
      fails('explain pod.spec.colour'),
    ]);
    expect(below).toMatch(/^ +jobTemplate\t[\s\S]*^ +containers\t[\s\S]*^ +imagePullPolicy\t/m);
    expect(none).toContain('"colour" does not exist');
  });

  test('a kind of every group', async () => {
    const rows = await table('api-resources --verbs=get --no-headers');
    const byGroup = new Map(rows.map((row) => [row.at(-3), row[0]]));
    const kinds = [...byGroup].map(([group, name]) => `${name} --api-version=${group}`);
    expect(kinds.length).toBeGreaterThan(15);
    const errors: string[] = [];
    // A few at a time: each reads the whole document.
    while (kinds.length > 0) {
      const some = kinds.splice(0, 8);
      const texts = await Promise.all(some.map((kind) => ok(`explain ${kind}`)));
      const bad = some.filter((_, index) => !/DESCRIPTION:\n +\S[\s\S]*metadata\t</.test(texts[index] ?? ''));
      errors.push(...bad);
    }
    expect(errors).toEqual([]);
  });
});

describe('a kind that users define', () => {
  beforeAll(async () => {
    const integer = { type: 'integer' };
    await ok('create -f -', {
      input: {
        apiVersion: `apiextensions.${plane.words.apiGroupDomain}/v1`,
        kind: 'CustomResourceDefinition',
        metadata: { name: 'boats.example.com' },
        spec: {
          group: 'example.com',
          scope: 'Namespaced',
          names: { plural: 'boats', singular: 'boat', kind: 'Boat', shortNames: ['bt'], categories: ['all'] },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              subresources: {
                status: {},
                scale: { specReplicasPath: '.spec.seats', statusReplicasPath: '.status.taken' },
              },
              additionalPrinterColumns: [{ name: 'Seats', type: 'integer', jsonPath: '.spec.seats' }],
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  description: 'Floats.',
                  properties: {
                    spec: {
                      type: 'object',
                      properties: { seats: { ...integer, minimum: 1, description: 'For people.' } },
                    },
                    status: { type: 'object', properties: { taken: integer } },
                  },
                },
              },
            },
          ],
        },
      },
    });
    await ok('wait --for=condition=Established crd/boats.example.com --timeout=10s');
  });

  const boat = (name: string, spec: object): object => ({
    apiVersion: 'example.com/v1',
    kind: 'Boat',
    metadata: { name },
    spec,
  });

  test('is discovered, created, shown, scaled, changed and deleted', async () => {
    expect(await ok('api-resources --api-group=example.com --no-headers')).toMatch(
      /^boats +bt +example\.com\/v1 +true +Boat$/,
    );
    expect(await ok('apply -f -', { input: boat('tug', { seats: 2 }) })).toBe('boat.example.com/tug created');
    expect(await table('get bt')).toEqual([
      ['NAME', 'SEATS'],
      ['tug', '2'],
    ]);
    expect(await ok('scale boat tug --replicas=4')).toBe('boat.example.com/tug scaled');
    expect(await ok('label boat tug colour=red')).toBe('boat.example.com/tug labeled');
    expect(await ok(['patch', 'boat', 'tug', '--type=merge', '-p', '{"spec":{"seats":5}}'])).toMatch(
      /patched$/,
    );
    expect((await json('get boat tug')).spec).toEqual({ seats: 5 });
    expect(await ok('get all -o name')).toContain('boat.example.com/tug');
    expect(await ok('describe boat tug')).toMatch(/^Kind: +Boat$[\s\S]*^ +Seats: +5$/m);
    await using watch = start('get boats -w --no-headers');
    expect(await watch.line()).toBe('tug 5');
    expect(await ok('delete boat tug')).toBe('boat.example.com "tug" deleted');
  });

  test('is explained and checked', async () => {
    const [about, seats, wrong, few] = await Promise.all([
      ok('explain boat'),
      ok('explain boat.spec.seats'),
      fails('create -f -', { input: boat('wrong', { seats: 'many' }) }),
      fails('create -f -', { input: boat('few', { seats: 0 }) }),
    ]);
    expect(about).toContain('Floats.');
    expect(seats).toMatch(/seats <integer>[\s\S]*For people\./);
    expect(wrong).toMatch(/spec\.seats/);
    expect(few).toMatch(/The Boat "few" is invalid: .*spec\.seats: Invalid value: 0/s);
  });
});
