import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject, Resource, Strategy, StrategyContext } from '../resources/contract.ts';
import type { DeleteOptions } from './contract.ts';
import { decideDeletion, isRemovable } from './decide-deletion.ts';

const NOW = Date.parse('2026-06-01T12:00:00Z');
const context: StrategyContext = {
  vocabulary: VOCABULARIES.plat,
  user: { name: 'ann', groups: [], extra: {} },
  namespace: 'default',
  nowMs: NOW,
  dryRun: false,
  gates: new Set(),
};
const object = (metadata: Partial<ApiObject['metadata']> = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', uid: 'u', generation: 3, ...metadata },
});
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- decisions look at the strategy only
const resource = (strategy: Strategy = {}): Resource => ({ strategy }) as unknown as Resource;
const graceful: Strategy = { planDeletion: (_, requested) => ({ graceSeconds: requested ?? 30 }) };
const request = (parts: Partial<DeleteOptions> = {}): DeleteOptions => ({ dryRun: false, ...parts });

describe('decideDeletion', () => {
  test('removes an object without finalizers (3)', () => {
    expect(decideDeletion(object(), resource(), request(), context)).toEqual({ kind: 'remove' });
  });

  test('marks an object with a finalizer (3)', () => {
    const decision = decideDeletion(object({ finalizers: ['a/b'] }), resource(), request(), context);
    expect(decision).toMatchObject({
      kind: 'mark',
      object: {
        metadata: {
          deletionTimestamp: '2026-06-01T12:00:00Z',
          deletionGracePeriodSeconds: 0,
          generation: 4,
          finalizers: ['a/b'],
        },
      },
    });
  });

  test('uses the grace period of the kind or the client', () => {
    const marked = (seconds?: number) =>
      decideDeletion(
        object(),
        resource(graceful),
        request(seconds === undefined ? {} : { gracePeriodSeconds: seconds }),
        context,
      );
    expect(marked()).toMatchObject({
      object: { metadata: { deletionTimestamp: '2026-06-01T12:00:30Z', deletionGracePeriodSeconds: 30 } },
    });
    expect(marked(5)).toMatchObject({ object: { metadata: { deletionTimestamp: '2026-06-01T12:00:05Z' } } });
    expect(marked(0)).toEqual({ kind: 'remove' });
  });

  describe('of an object that is being deleted', () => {
    const ending = object({ deletionTimestamp: '2026-06-01T12:00:20Z', deletionGracePeriodSeconds: 30 });
    test.each<[string, Partial<DeleteOptions>, unknown]>([
      ['does nothing without a new time', {}, { kind: 'pending' }],
      ['never lengthens the time', { gracePeriodSeconds: 60 }, { kind: 'pending' }],
      [
        'shortens the time from when it began',
        { gracePeriodSeconds: 10 },
        {
          kind: 'mark',
          object: {
            metadata: {
              deletionTimestamp: '2026-06-01T12:00:00Z',
              deletionGracePeriodSeconds: 10,
              generation: 3,
            },
          },
        },
      ],
      ['removes at once by force', { gracePeriodSeconds: 0 }, { kind: 'remove' }],
    ])('%s', (_, parts, expected) => {
      expect(decideDeletion(ending, resource(graceful), request(parts), context)).toMatchObject(
        expected as object,
      );
    });

    test('removes an object after its last finalizer', () => {
      const over = object({ deletionTimestamp: '2026-06-01T12:00:00Z', deletionGracePeriodSeconds: 0 });
      expect(decideDeletion(over, resource(), request(), context)).toEqual({ kind: 'remove' });
      expect(isRemovable(over, resource())).toBe(true);
    });
  });

  test.each<
    [string, DeleteOptions['propagationPolicy'], readonly string[], Strategy, readonly string[] | undefined]
  >([
    ['orphans', 'Orphan', [], {}, ['orphan']],
    ['goes first in the foreground', 'Foreground', ['x/y'], {}, ['x/y', 'foregroundDeletion']],
    ['changes from orphaning to the foreground', 'Foreground', ['orphan'], {}, ['foregroundDeletion']],
    ['goes in the background by a later word', 'Background', ['orphan', 'x/y'], {}, ['x/y']],
    ['retains earlier decisions', undefined, ['orphan'], {}, ['orphan']],
    ['orphans where the kind does', undefined, [], { defaultPropagation: 'orphan' }, ['orphan']],
    ['is removed in the background', 'Background', [], { defaultPropagation: 'orphan' }, undefined],
  ])('%s', (_, propagationPolicy, finalizers, strategy, expected) => {
    const options = request(propagationPolicy === undefined ? {} : { propagationPolicy });
    const decision = decideDeletion(object({ finalizers }), resource(strategy), options, context);
    const mark = { kind: 'mark', object: { metadata: { finalizers: expected } } };
    expect(decision).toMatchObject(expected === undefined ? { kind: 'remove' } : mark);
  });

  test('marks objects with finalizers, and notifies their strategy', () => {
    const strategy: Strategy = {
      holdsDeletion: (each) => each['spec'] !== undefined,
      markDeleting: (draft) => {
        draft['status'] = { phase: 'Terminating' };
      },
    };
    const namespace = { ...object(), spec: {} };
    const decision = decideDeletion(namespace, resource(strategy), request(), context);
    expect(decision).toMatchObject({ kind: 'mark', object: { status: { phase: 'Terminating' } } });
    expect(namespace).not.toHaveProperty('status');
    expect(decision.kind === 'mark' && isRemovable(decision.object, resource(strategy))).toBe(false);
  });
});
