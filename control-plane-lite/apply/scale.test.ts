import { describe, expect, test } from 'vitest';
import type { ManagedFieldsEntry } from '#api/gen/meta-v1.ts';
import { fromScaleEntries, replicasPath, type ScaleMapping, toScaleEntries } from './scale.ts';

const MAPPING: ScaleMapping = {
  paths: { 'apps/v1': replicasPath('.spec.replicas') },
  apiVersion: 'apps/v1',
  scaleVersion: 'autoscaling/v1',
};

const entry = (
  manager: string,
  fields: object,
  more: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry => ({
  manager,
  operation: 'Update',
  apiVersion: 'apps/v1',
  time: '2020-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': fields },
  ...more,
});
const scale = (manager: string, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry =>
  entry(manager, { 'f:replicas': {} }, { apiVersion: 'autoscaling/v1', ...more });

const parent = [
  entry('a', { 'f:replicas': {}, 'f:paused': {} }, { operation: 'Apply' }),
  entry('b', { 'f:paused': {} }),
];

describe('toScaleEntries', () => {
  test('shows who owns replicas', () => {
    expect(toScaleEntries(parent, MAPPING)).toEqual([scale('a', { operation: 'Apply' })]);
  });

  test('shows no owner', () => {
    expect(
      toScaleEntries(
        [entry('b', { 'f:paused': {} }), entry('c', { 'f:replicas': {} }, { apiVersion: 'x/v1' })],
        MAPPING,
      ),
    ).toBeUndefined();
  });
});

describe('fromScaleEntries', () => {
  test('leaves all as it is if nothing changed', () => {
    expect(fromScaleEntries(parent, toScaleEntries(parent, MAPPING), MAPPING)).toEqual(parent);
  });

  test('moves replicas to a new owner', () => {
    const time = '2020-01-02T00:00:00Z';
    expect(fromScaleEntries(parent, [scale('s', { subresource: 'scale', time })], MAPPING)).toEqual([
      entry('a', { 'f:paused': {} }, { operation: 'Apply' }),
      entry('b', { 'f:paused': {} }),
      entry('s', { 'f:replicas': {} }, { subresource: 'scale', time }),
    ]);
  });

  test('adds replicas to what a manager has', () => {
    expect(fromScaleEntries(parent, [scale('b')], MAPPING)).toEqual([
      entry('a', { 'f:paused': {} }, { operation: 'Apply' }),
      entry('b', { 'f:paused': {}, 'f:replicas': {} }),
    ]);
  });

  test('drops a manager who had nothing else, and versions that are unknown', () => {
    const before = [
      entry('a', { 'f:replicas': {} }),
      entry('x', { 'f:replicas': {} }, { apiVersion: 'x/v1' }),
    ];
    expect(fromScaleEntries(before, [scale('s')], MAPPING)).toEqual([entry('s', { 'f:replicas': {} })]);
  });

  test('maps the path of a custom resource', () => {
    const mapping = { ...MAPPING, paths: { 'x/v1': replicasPath('.spec.size.count') }, apiVersion: 'x/v1' };
    const own = entry('a', { 'f:size': { 'f:count': {} } }, { apiVersion: 'x/v1' });
    expect(toScaleEntries([own], mapping)).toEqual([scale('a')]);
    expect(fromScaleEntries([own], [scale('s')], mapping)).toEqual([{ ...own, manager: 's' }]);
  });
});
