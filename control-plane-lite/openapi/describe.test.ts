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
  if (found === undefined) throw new Error(`${key} is no type`);
  return parseTypeName(found);
}

describe('descriptions', () => {
  const texts = ALL_TEXTS.flatMap((each) => Object.entries(each));

  test('are of types that there are, each in one place', () => {
    const keys = texts.map(([key]) => key);
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
    expect(() => keys.map(typeNamed)).not.toThrow();
  });

  test('are of members that there are', () => {
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

  test('say the defaults that the tables have', () => {
    const wrong = texts.flatMap(([key, { members = {} }]) => {
      if (Object.keys(members).length === 0) return [];
      const name = typeNamed(key);
      return jsonFields(name).flatMap((field) => {
        const said = /^Default (.*)\.$/.exec(factsOf(name, field)[0] ?? '')?.[1];
        const text = members[field.json];
        if (said === undefined || text === undefined || !/default/i.test(text)) return [];
        const shown = said === '420' ? '0644' : said;
        return text.includes(shown) ? [] : [`${key} ${field.json}: ${text} (${said})`];
      });
    });
    expect(wrong).toEqual([]);
  });
});

describe('describeMember', () => {
  test.each([
    ['Pod', 'spec', 'What is wanted of the Pod.'],
    ['PodList', 'items', 'The Pod objects.'],
    ['PodSpec', 'nodeName', /^Node that runs the pod\./],
    ['PodCondition', 'status', /^Whether it is so/],
    ['EphemeralContainer', 'image', /^Image that it runs from/],
    ['RBDVolumeSource', 'pool', 'Default rbd.'],
    ['ServiceSpec', 'loadBalancerClass', 'Belongs to the feature gate LoadBalancerClass.'],
    ['Probe', 'periodSeconds', /^[^D]*Default 10\.$/],
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
    [{ ...pod, typeName: 'LimitRangeSpec' }, /^What is wanted of a LimitRange\.$/],
    [{ ...pod, typeName: 'NodeCondition' }, /^Whether something is so/],
  ])('says what a type is', (name, wanted) => {
    expect(describeType(name)).toMatch(wanted);
  });

  test('says nothing of what it does not know', () => {
    expect(describeType({ packageName: 'core/v1', typeName: 'ScaleIOVolumeSource' })).toBeUndefined();
  });
});
