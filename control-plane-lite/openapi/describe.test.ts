import { describe, expect, test } from 'vitest';
import {
  jsonFields,
  parseTypeName,
  shapeOf,
  type TypeName,
  typeOf,
  UnknownTypeError,
} from '#api/schema/registry.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { describeMember, describeType } from './describe.ts';
import { ALL_TEXTS } from './descriptions/table.ts';
import { factsOf } from './member-facts.ts';

const pod = { packageName: 'core/v1', typeName: 'Pod' };

function isType(name: string): boolean {
  try {
    return shapeOf(name, '').kind === 'scalar' || typeOf(name).fields.length >= 0;
  } catch (error) {
    if (error instanceof UnknownTypeError) return false;
    throw error;
  }
}

/** Packages of the tables have the platform's domain; keys of the texts don't. */
function typeNamed(key: string): TypeName {
  const found = [key, key.replace('/', `.${VOCABULARIES.plat.apiGroupDomain}/`)].find(isType);
  if (found === undefined) throw new Error(`${key} is not a type`);
  return parseTypeName(found);
}

describe('descriptions', () => {
  const texts = ALL_TEXTS.flatMap((each) => Object.entries(each));

  test('exist for known types only, each once', () => {
    const keys = texts.map(([key]) => key);
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
    expect(() => keys.map(typeNamed)).not.toThrow();
  });

  test('exist for known members only', () => {
    const strange = texts.flatMap(([key, { members = {} }]) => {
      const known = new Set(
        Object.keys(members).length === 0 ? [] : jsonFields(typeNamed(key)).map(({ json }) => json),
      );
      return Object.keys(members).flatMap((member) => (known.has(member) ? [] : [`${key} ${member}`]));
    });
    expect(strange).toEqual([]);
  });

  test('are sentences', () => {
    const all = texts.flatMap(([, { is, members = {} }]) => [
      ...(is === undefined ? [] : [is]),
      ...Object.values(members),
    ]);
    expect(all.filter((text) => !/^[A-Z$*].*[.!]$/s.test(text))).toEqual([]);
  });

  test('name the defaults of the tables', () => {
    const wrong = texts.flatMap(([key, { members = {} }]) => {
      if (Object.keys(members).length === 0) return [];
      const name = typeNamed(key);
      return jsonFields(name).flatMap((field) => {
        const value = /^Defaults to (.*)\.$/.exec(factsOf(name, field)[0] ?? '')?.[1];
        const text = members[field.json];
        if (value === undefined || text === undefined || !/default/i.test(text)) return [];
        const shown = value === '420' ? '0644' : value;
        return text.includes(shown) ? [] : [`${key} ${field.json}: ${text} (${value})`];
      });
    });
    expect(wrong).toEqual([]);
  });
});

describe('describeMember', () => {
  test.each([
    ['Pod', 'spec', 'Desired state of the Pod.'],
    ['PodList', 'items', 'Pod objects of the list.'],
    ['PodSpec', 'nodeName', /^Name of the node that runs the pod\./],
    ['PodCondition', 'status', /^Status of the condition/],
    ['EphemeralContainer', 'image', /^Image that the container runs\./],
    ['RBDVolumeSource', 'pool', 'Defaults to rbd.'],
    ['ServiceSpec', 'internalTrafficPolicy', 'Guarded by the feature gate ServiceInternalTrafficPolicy.'],
    ['Probe', 'periodSeconds', /^(?!.*[Dd]efault.*[Dd]efault).*Defaults to 10\.$/],
    ['Pod', 'status', /^Most recently observed state of the Pod\./],
  ])('describes %s.%s', (typeName, member, wanted) => {
    const name = { packageName: 'core/v1', typeName };
    const field = jsonFields(name).find(({ json }) => json === member);
    if (field === undefined) throw new Error(`${typeName} has no ${member}`);
    expect(describeMember(name, field)).toMatch(wanted);
  });
});

describe('describeType', () => {
  test.each([
    [pod, /^Containers that run together/],
    [{ ...pod, typeName: 'PodList' }, /^List of Pod objects\.$/],
    [{ ...pod, typeName: 'LimitRangeSpec' }, /^Desired state of a LimitRange\.$/],
    [{ ...pod, typeName: 'NodeCondition' }, /^One aspect of the current state/],
  ])('describes a type', (name, wanted) => {
    expect(describeType(name)).toMatch(wanted);
  });

  test('has no description of an unknown type', () => {
    expect(describeType({ packageName: 'core/v1', typeName: 'ScaleIOVolumeSource' })).toBeUndefined();
  });
});
