/** Outcome of writes that lose against a concurrent one. */
import { describe, expect, test } from 'vitest';
import type { Job } from '#api/gen/batch-v1.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import type { ApiObject, Draft } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { Outcome } from './contract.ts';
import { caller, configMap, createFixture, type Fixture, options } from './verbs.fixture.ts';

const create = ({ verbs, ref }: Fixture, data: Readonly<Record<string, string>>): Promise<unknown> =>
  verbs.create({ ref, object: configMap(data), dryRun: false, fieldManager: 'me', caller });

describe('updateObject', () => {
  test('of an absent object works on the object that another created meanwhile', async () => {
    await using fixture = await createFixture();
    fixture.meanwhile(() => create(fixture, { theirs: '1' }));
    const seen: (ApiObject | undefined)[] = [];
    const outcome = await fixture.verbs.update({
      ...options,
      allowCreate: true,
      ref: fixture.ref,
      change: (live) => {
        seen.push(live);
        const { data } = (live ?? configMap({})) as ApiObject & { data: Record<string, string> };
        return { ...(live ?? configMap({})), data: { ...data, mine: '2' } };
      },
      caller,
    });
    expect(seen.map((live) => live !== undefined)).toEqual([false, true]);
    expect(outcome.object['data']).toEqual({ theirs: '1', mine: '2' });
    expect(outcome.created).toBeUndefined();
  });
});

describe('createObject', () => {
  test('of an object that another created meanwhile fails', async () => {
    await using fixture = await createFixture();
    fixture.meanwhile(() => create(fixture, {}));
    await expect(create(fixture, {})).rejects.toMatchObject({
      reason: 'AlreadyExists',
      message: 'configmaps "c" already exists',
    });
  });

  test('fails in a dry run too if the name is taken', async () => {
    await using fixture = await createFixture();
    const { verbs, ref } = fixture;
    const dryRun = { dryRun: true, fieldManager: 'me' };
    await verbs.create({ ...dryRun, ref, object: configMap({}), caller });
    await create(fixture, {});
    await expect(verbs.create({ ...dryRun, ref, object: configMap({}), caller })).rejects.toMatchObject({
      reason: 'AlreadyExists',
    });
  });

  test('takes another generated name if one is taken, and all that is made of it', async () => {
    await using fixture = await createFixture('batch', 'jobs');
    const { verbs, ref } = fixture;
    const jobOf = (metadata: Draft<ObjectMeta>): ApiObject =>
      ref.resource.schema.decode({
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { namespace: 'n', ...metadata },
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
      }).object;
    const make = (metadata: Draft<ObjectMeta>): Promise<Outcome> =>
      verbs.create({
        ref: { ...ref, name: metadata.name ?? '' },
        object: jobOf(metadata),
        dryRun: false,
        fieldManager: 'me',
        caller,
      });
    let taken = '';
    fixture.meanwhile((name) => {
      taken = name;
      return make({ name });
    });
    const { object } = await make({ generateName: 'job-' });
    const { metadata, spec } = typed<Job>(object);
    expect(taken).toMatch(/^job-/);
    expect(metadata?.name).toMatch(/^job-/);
    expect(metadata?.name).not.toBe(taken);
    expect(spec?.template.metadata?.labels).toEqual({
      'job-name': metadata?.name,
      'controller-uid': metadata?.uid,
    });
  });
});
