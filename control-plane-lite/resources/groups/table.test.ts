import { describe, expect, it, test } from 'vitest';
import { decode } from '#api/schema/decode.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject, KindEntry } from '../contract.ts';
import { builtinFacts } from '../facts.ts';
import { contextWith } from './kind.fixture.ts';
import { groupKinds } from './table.ts';

describe.each(['plat', 'kubernetes'] as const)('groupKinds (%s)', (name) => {
  const vocabulary = VOCABULARIES[name];
  const kinds = groupKinds({ vocabulary });
  const facts = builtinFacts(vocabulary).filter(({ info }) => info.group !== '');

  it('has every kind outside the core group, and no other', () => {
    expect(Object.keys(kinds).toSorted()).toEqual(facts.map(({ factKey }) => factKey).toSorted());
  });

  test.each(facts.map((fact) => [fact.factKey, fact] as const))('%s is whole', (key, { info, typeRef }) => {
    const { strategy, parts = {}, storedAs }: KindEntry = kinds[key] ?? { strategy: {} };
    const resources = [...info.subresources.keys()].filter((part) => part !== 'scale');
    expect(Object.keys(parts).toSorted()).toEqual(resources.toSorted());
    // Empty input may have errors, but must never throw.
    const { value } = decode<ApiObject>(typeRef, { metadata: { name: 'a' }, spec: {} });
    const object = { ...value, kind: info.kind, apiVersion: `${info.group}/${info.version}` };
    const context = contextWith({ vocabulary: name });
    strategy.prepareForCreate?.(object, context);
    expect(Array.isArray(strategy.validate?.(object, context) ?? [])).toBe(true);
    expect(Array.isArray(strategy.validateCreate?.(object, context) ?? [])).toBe(true);
    const cells = strategy.row?.(object, { nowMs: context.nowMs, vocabulary });
    expect(cells === undefined || cells.length === info.columns.length).toBe(true);
    const storedKey = storedAs === undefined ? key : `${storedAs.group}/${storedAs.version}/${info.kind}`;
    expect(storedKey in kinds || storedAs?.group === '').toBe(true);
  });

  it('has a row wherever there are columns of its own', () => {
    const without = facts.filter(({ factKey, info }) => {
      const own = info.columns.length > 2;
      return own && kinds[factKey]?.strategy.row === undefined;
    });
    expect(without.map(({ factKey }) => factKey)).toEqual([]);
  });

  it('warns of templates written in a way of the past', () => {
    const deployment = kinds['apps/v1/Deployment'];
    const template = { spec: { containers: [], nodeSelector: { [`beta.${vocabulary.domain}/arch`]: 'x' } } };
    const object: ApiObject = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: {}, spec: { template } };
    expect(deployment?.strategy.warnings?.(object, undefined)).toHaveLength(1);
    expect(deployment?.strategy.warnings?.(object, structuredClone(object))).toEqual([]);
    const cron: ApiObject = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: {},
      spec: { schedule: 'TZ=UTC @daily', jobTemplate: { spec: { template } } },
    };
    expect(kinds['batch/v1/CronJob']?.strategy.warnings?.(cron, undefined)).toHaveLength(2);
  });
});
