/** Behavior common to all kinds: apply, every kind of patch, selection, watch, deletion. Document 1 §4.2
 *  to 4.9; document 3 §4.2. */
import { describe, expect, test } from 'vitest';
import { samples, settled } from './kinds.ts';
import { type Body, JSON_PATCH, MERGE, STRATEGIC, usePlane } from './support.ts';

const managers = ({ metadata }: Body): readonly unknown[] =>
  (metadata.managedFields ?? []).map(({ manager, operation }) => `${manager} ${operation}`);

describe('every kind', () => {
  // Other tests that go through all kinds speak the other vocabulary.
  // With it the server itself writes the status of a new FlowSchema.
  const plane = usePlane('kubernetes', ['--enable-priority-and-fairness=false']);

  test.each(samples(plane.words))('$id', async ({ path, object, kind, apiVersion }) => {
    const { name } = object.metadata;
    const wanted = { ...object, metadata: { name, labels: { applied: 'yes' } } };
    const one = `${path}/${name}`;
    const chosen = `${path}?labelSelector=tested%3D${name}`;
    await using stream = await plane.watch(`${path}?watch=1&fieldSelector=metadata.name%3D${name}`);

    const applied = await plane.apply(`${one}?fieldManager=one`, wanted);
    expect({ status: applied.status, message: applied.body.message }).toEqual({ status: 201 });
    expect(managers(applied.body)).toContain('one Apply');
    const live = await settled(plane, one, kind);
    const again = await plane.apply(`${one}?fieldManager=one`, wanted);
    expect({ status: again.status, version: again.body.metadata.resourceVersion }).toEqual({
      status: 200,
      version: live.metadata.resourceVersion,
    });

    const labels = { tested: name };
    const patches: readonly (readonly [string, unknown])[] = [
      [MERGE, { metadata: { labels } }],
      [STRATEGIC, { metadata: { annotations: { 'example.com/b': '2' } } }],
      [JSON_PATCH, [{ op: 'add', path: '/metadata/annotations/example.com~1c', value: '3' }]],
    ];
    for (const [type, patch] of patches) {
      const patched = await plane.patch(`${one}?fieldManager=two`, patch, type);
      expect({ type, status: patched.status, message: patched.body.message }).toEqual({ type, status: 200 });
      expect(managers(patched.body)).toEqual(expect.arrayContaining(['one Apply', 'two Update']));
      // Nothing but metadata is changed.
      expect({ ...patched.body, metadata: {} }).toEqual({ ...live, metadata: {} });
    }
    const list = (await plane.get(chosen)).body;
    expect(list).toMatchObject({ kind: `${kind}List`, apiVersion });
    expect(list.items.map(({ metadata }) => metadata.annotations)).toMatchObject([
      { 'example.com/b': '2', 'example.com/c': '3' },
    ]);
    expect((await stream.next())?.type).toBe('ADDED');
    expect((await stream.next())?.object).toMatchObject({ kind, apiVersion, metadata: { name } });

    const deleted = kind === 'Namespace' ? await plane.delete(one) : await plane.delete(chosen);
    expect(deleted.status).toBe(200);
    let last = '';
    while (last !== 'DELETED') last = (await stream.next())?.type ?? 'DELETED';
    expect((await plane.get(one)).status).toBe(404);
  });
});
