/** Server-side apply of the scale subresource: ownership of the replica count. Document 1 §4.9. */
import { describe, expect, test } from 'vitest';
import { APPLY, type Json, type Reply, usePlane } from './support.ts';

describe('applying a scale', () => {
  const plane = usePlane();
  const path = '/apis/apps/v1/namespaces/default/deployments';
  let names = 0;

  const deployment = (name: string, spec: Json): Json => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      ...spec,
    },
  });
  const applyAs = (at: string, body: unknown, manager: string, force = false): Promise<Reply> =>
    plane.call('PATCH', `${at}?fieldManager=${manager}${force ? '&force=true' : ''}`, body, { type: APPLY });
  const scale = (name: string, replicas: number): Json => ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name },
    spec: { replicas },
  });
  async function made(spec: Json = { replicas: 2 }): Promise<string> {
    const name = `d-${(names += 1)}`;
    expect((await applyAs(`${path}/${name}`, deployment(name, spec), 'maker')).status).toBe(201);
    return name;
  }
  /** Returns the owner of the replicas, as `manager operation subresource`. */
  async function ownersOf(name: string): Promise<readonly string[]> {
    const { metadata } = (await plane.get(`${path}/${name}`)).body;
    return (metadata.managedFields ?? [])
      .filter(({ fieldsV1 }) => JSON.stringify(fieldsV1).includes('"f:replicas"'))
      .map(({ manager, operation, subresource = '' }) => `${manager} ${operation} ${subresource}`.trim())
      .toSorted();
  }

  test('conflicts with who set another number, unless it is forced', async () => {
    const name = await made();
    const refused = await applyAs(`${path}/${name}/scale`, scale(name, 4), 'scaler');
    expect(refused).toMatchObject({
      status: 409,
      body: { details: { causes: [{ reason: 'FieldManagerConflict', field: '.spec.replicas' }] } },
    });
    expect(refused.body.message).toContain('"maker"');
    const forced = await applyAs(`${path}/${name}/scale`, scale(name, 4), 'scaler', true);
    expect(forced).toMatchObject({ status: 200, body: { kind: 'Scale', spec: { replicas: 4 } } });
    expect(await ownersOf(name)).toEqual(['scaler Apply scale']);
    const back = await applyAs(`${path}/${name}`, deployment(name, { replicas: 2 }), 'maker');
    expect(back.body.details.causes).toMatchObject([{ field: '.spec.replicas' }]);
    expect((await applyAs(`${path}/${name}`, deployment(name, {}), 'maker')).body.spec).toMatchObject({
      replicas: 4,
    });
  });

  test('shares ownership of the same number, and changes nothing when repeated', async () => {
    const name = await made();
    expect((await applyAs(`${path}/${name}/scale`, scale(name, 2), 'scaler')).status).toBe(200);
    expect(await ownersOf(name)).toEqual(['maker Apply', 'scaler Apply scale']);
    const before = await plane.get(`${path}/${name}`);
    const again = await applyAs(`${path}/${name}/scale`, scale(name, 2), 'scaler');
    expect(again.body.metadata.resourceVersion).toBe(before.body.metadata.resourceVersion);
    // The object's own manager lets go of it, and it stays.
    await applyAs(`${path}/${name}`, deployment(name, {}), 'maker');
    expect(await ownersOf(name)).toEqual(['scaler Apply scale']);
    expect((await plane.get(`${path}/${name}/scale`)).body.spec).toEqual({ replicas: 2 });
  });

  test('takes ownership of replicas from the previous manager', async () => {
    const name = await made();
    await plane.patch(`${path}/${name}/scale?fieldManager=hand`, { spec: { replicas: 3 } });
    expect(await ownersOf(name)).toEqual(['hand Update scale']);
    expect((await applyAs(`${path}/${name}/scale`, scale(name, 5), 'scaler')).status).toBe(409);
    expect((await applyAs(`${path}/${name}/scale`, scale(name, 5), 'scaler', true)).status).toBe(200);
    expect(await ownersOf(name)).toEqual(['scaler Apply scale']);
    expect((await plane.get(`${path}/${name}`)).body.spec).toMatchObject({ replicas: 5 });
  });

  test('needs a manager, its own version and a number that can be', async () => {
    const name = await made();
    const at = `${path}/${name}/scale`;
    const unnamed = await plane.call('PATCH', at, scale(name, 4), { type: APPLY });
    expect([unnamed.status, unnamed.body.details.causes?.[0]?.field]).toEqual([422, 'fieldManager']);
    const other = await applyAs(at, { ...scale(name, 4), apiVersion: 'apps/v1' }, 'scaler');
    expect([other.status, other.body.reason]).toEqual([400, 'BadRequest']);
    const negative = await applyAs(at, scale(name, -1), 'scaler', true);
    expect([negative.status, negative.body.details.causes?.[0]?.field]).toEqual([422, 'spec.replicas']);
    const dry = await plane.call('PATCH', `${at}?fieldManager=scaler&force=true&dryRun=All`, scale(name, 9), {
      type: APPLY,
    });
    expect(dry.body.spec).toEqual({ replicas: 9 });
    expect(await ownersOf(name)).toEqual(['maker Apply']);
  });
});
