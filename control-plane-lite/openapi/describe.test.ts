import { describe, expect, test } from 'vitest';
import { jsonFields, parseTypeName, typeOf } from '#api/schema/registry.ts';
import { describeMember, describeType } from './describe.ts';
import { MEMBER_DESCRIPTIONS, TYPE_DESCRIPTIONS } from './descriptions.ts';

const pod = { packageName: 'core/v1', typeName: 'Pod' };

describe('descriptions', () => {
  test('are of types that there are', () => {
    const names = Object.keys(TYPE_DESCRIPTIONS).map((name) => parseTypeName(name));
    expect(() => names.map(typeOf)).not.toThrow();
  });

  test('are of members that there are', () => {
    const strange = Object.entries(MEMBER_DESCRIPTIONS).flatMap(([type, lines]) => {
      const known = new Set(jsonFields(parseTypeName(type)).map(({ json }) => json));
      return Object.keys(lines).flatMap((member) => (known.has(member) ? [] : [`${type} ${member}`]));
    });
    expect(strange).toEqual([]);
  });

  test('are sentences', () => {
    const all = [TYPE_DESCRIPTIONS, ...Object.values(MEMBER_DESCRIPTIONS)].flatMap((lines) =>
      Object.values(lines),
    );
    expect(all.filter((text) => !/^[A-Z$].*[.!]$/s.test(text))).toEqual([]);
  });
});

describe('describeMember', () => {
  test.each([
    ['Pod', 'spec', 'What is wanted of the Pod.'],
    ['PodList', 'items', 'The Pod objects.'],
    ['PodSpec', 'nodeName', /^Node that runs the pod\./],
    ['Pod', 'status', /^What was last seen of the Pod\./],
  ])('says of %s.%s what is known', (typeName, member, wanted) => {
    const name = { packageName: 'core/v1', typeName };
    const field = jsonFields(name).find(({ json }) => json === member);
    if (field === undefined) throw new Error(`${typeName} has no ${member}`);
    expect(describeMember(name, field)).toMatch(wanted);
  });
});

describe('describeType', () => {
  test.each([
    [pod, /^Containers that run together/],
    [{ ...pod, typeName: 'PodList' }, /^A list of Pod objects\.$/],
  ])('says what a type is', (name, wanted) => {
    expect(describeType(name)).toMatch(wanted);
  });

  test('says nothing of what it does not know', () => {
    expect(describeType({ packageName: 'core/v1', typeName: 'RBDVolumeSource' })).toBeUndefined();
  });
});
