import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject, Cell, KindEntry } from '../contract.ts';
import { configMapKind } from './config-map.ts';
import { secretKind } from './secret.ts';
import { serviceAccountKind } from './service-account.ts';
import {
  changed,
  contextWith,
  createFaultsOf,
  NOW_MS,
  objectOf,
  updateFaultsOf,
} from './strategy.fixture.ts';

const vocabulary = VOCABULARIES.plat;
const DOMAIN = vocabulary.domain;
const metadata = { name: 'a', namespace: 'default', creationTimestamp: '2022-05-03T11:58:00Z' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const rowOf = ({ strategy }: KindEntry, object: ApiObject): readonly Cell[] | undefined =>
  strategy.row?.(object, { nowMs: NOW_MS, vocabulary });

describe('ConfigMap', () => {
  const configMap = (members: object = {}): ApiObject =>
    objectOf('core/v1.ConfigMap', { metadata, ...members });

  test.each<[string, object, readonly string[]]>([
    ['takes data', { data: { 'a-b_c.d': 'x' }, binaryData: { e: base64('x') } }, []],
    ['checks keys', { data: { 'a b': '' } }, ['FieldValueInvalid data[a b]']],
    ['checks binary keys', { binaryData: { '..': base64('x') } }, ['FieldValueInvalid binaryData[..]']],
    ['has each key once', { data: { a: '' }, binaryData: { a: base64('x') } }, ['FieldValueInvalid data[a]']],
    ['has a size', { data: { a: 'x'.repeat(1024 * 1024 + 1) } }, ['FieldValueTooLong data']],
  ])('%s', (_, members, errors) => {
    expect(createFaultsOf(configMapKind, configMap(members))).toEqual(errors);
  });

  test.each<[string, object, object, readonly string[]]>([
    ['changes', { data: { a: '1' } }, { data: { a: '2' } }, []],
    ['is frozen', { data: { a: '1' } }, { data: { a: '1' }, immutable: true }, []],
    ['stays frozen', { immutable: true }, {}, ['FieldValueForbidden immutable']],
    [
      'stays frozen whatever is said',
      { immutable: true },
      { immutable: false },
      ['FieldValueForbidden immutable'],
    ],
    [
      'keeps frozen data',
      { immutable: true, data: { a: '1' } },
      { immutable: true },
      ['FieldValueForbidden data'],
    ],
    [
      'keeps frozen binary data',
      { immutable: true },
      { immutable: true, binaryData: { a: base64('1') } },
      ['FieldValueForbidden binaryData'],
    ],
    ['takes empty data for none', { immutable: true, data: {} }, { immutable: true }, []],
  ])('%s', (_, before, now, errors) => {
    expect(updateFaultsOf(configMapKind, configMap(now), configMap(before))).toEqual(errors);
  });

  test('shows how many values there are', () => {
    const row = rowOf(configMapKind, configMap({ data: { a: '', b: '' }, binaryData: { c: '' } }));
    expect(row).toEqual(['a', 3, '2m']);
  });
});

describe('Secret', () => {
  const secret = (members: object = {}): ApiObject => objectOf('core/v1.Secret', { metadata, ...members });

  test.each<[string, object, object | undefined]>([
    ['adds text', { stringData: { a: 'ä' } }, { a: base64('ä') }],
    [
      'overrides data',
      { data: { a: base64('1'), b: base64('2') }, stringData: { a: '3' } },
      { a: base64('3'), b: base64('2') },
    ],
    ['leaves no trace of empty text', { stringData: {} }, undefined],
    ['leaves data alone', { data: { a: base64('1') } }, { a: base64('1') }],
  ])('%s', (_, members, data) => {
    const draft = secret(members);
    secretKind.strategy.normalize?.(draft);
    expect(draft['stringData']).toBeUndefined();
    expect(draft['data']).toEqual(data);
  });

  test('has no key that reaches a prototype', () => {
    const draft = secret({ stringData: JSON.parse('{"__proto__":"x"}') as object });
    secretKind.strategy.normalize?.(draft);
    expect(createFaultsOf(secretKind, draft)).toEqual([]);
    expect(Object.getPrototypeOf(draft['data'] ?? {})).toBe(Object.prototype);
  });

  const OWNER = `${DOMAIN}/service-account.name`;
  test.each<[string, object, readonly string[]]>([
    ['is opaque by default', {}, []],
    ['may be of any type', { type: 'example.com/x' }, []],
    ['checks keys', { data: { 'a b': '' } }, ['FieldValueInvalid data[a b]']],
    ['has a size', { data: { a: base64('x'.repeat(1024 * 1024 + 1)) } }, ['FieldValueTooLong data']],
    ['of a registry', { type: `${DOMAIN}/dockercfg` }, ['FieldValueRequired data[.dockercfg]']],
    [
      'of a registry, newer',
      { type: `${DOMAIN}/dockerconfigjson` },
      ['FieldValueRequired data[.dockerconfigjson]'],
    ],
    [
      'of a registry, readable',
      { type: `${DOMAIN}/dockercfg`, data: { '.dockercfg': base64('{') } },
      ['FieldValueInvalid data[.dockercfg]'],
    ],
    [
      'of a user',
      { type: `${DOMAIN}/basic-auth` },
      ['FieldValueRequired data[username]', 'FieldValueRequired data[password]'],
    ],
    ['of a user, half', { type: `${DOMAIN}/basic-auth`, data: { username: base64('u') } }, []],
    ['of a shell', { type: `${DOMAIN}/ssh-auth` }, ['FieldValueRequired data[ssh-privatekey]']],
    [
      'of a server',
      { type: `${DOMAIN}/tls` },
      ['FieldValueRequired data[tls.crt]', 'FieldValueRequired data[tls.key]'],
    ],
    [
      'of an account',
      { type: `${DOMAIN}/service-account-token` },
      [`FieldValueRequired metadata.annotations[${OWNER}]`],
    ],
    [
      'of an account that is named',
      { type: `${DOMAIN}/service-account-token`, metadata: { ...metadata, annotations: { [OWNER]: 'x' } } },
      [],
    ],
  ])('%s', (_, members, errors) => {
    expect(createFaultsOf(secretKind, secret(members))).toEqual(errors);
  });

  test.each<[string, object, object, readonly string[]]>([
    ['changes data', {}, { data: { a: '' } }, []],
    ['keeps its type', { type: 'a' }, { type: 'b' }, ['FieldValueInvalid type']],
    [
      'keeps frozen data',
      { immutable: true },
      { immutable: true, data: { a: '' } },
      ['FieldValueForbidden data'],
    ],
    ['stays frozen', { immutable: true }, {}, ['FieldValueForbidden immutable']],
  ])('%s', (_, before, now, errors) => {
    expect(updateFaultsOf(secretKind, secret(now), secret(before))).toEqual(errors);
  });

  test('shows its type and how many values there are, never one of them', () => {
    const object = secret({ data: { a: base64('hidden') } });
    expect(rowOf(secretKind, object)).toEqual(['a', 'Opaque', 1, '2m']);
    expect(secretKind.strategy.selectableFields?.['type']?.(object)).toBe('Opaque');
  });
});

describe('ServiceAccount', () => {
  const account = (members: object = {}): ApiObject =>
    objectOf('core/v1.ServiceAccount', { metadata, ...members });

  test('keeps the names of its secrets only', () => {
    const draft = account({ secrets: [{ name: 's', namespace: 'other', kind: 'Secret' }] });
    serviceAccountKind.strategy.prepareForCreate?.(draft, contextWith());
    expect(draft['secrets']).toEqual([{ name: 's' }]);
    const update = account(changed(draft, { secrets: [{ name: 't', uid: 'u' }] }));
    serviceAccountKind.strategy.prepareForUpdate?.(update, draft, contextWith());
    expect(update['secrets']).toEqual([{ name: 't' }]);
  });

  test('shows how many secrets there are', () => {
    expect(rowOf(serviceAccountKind, account())).toEqual(['a', 0, '2m']);
    expect(rowOf(serviceAccountKind, account({ secrets: [{ name: 's' }] }))).toEqual(['a', 1, '2m']);
  });
});
