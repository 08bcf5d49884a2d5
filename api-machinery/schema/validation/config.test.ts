import { Buffer } from 'node:buffer';
import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '../../vocabulary.ts';
import { MAX_CONFIG_BYTES, validateConfigMap, validateSecret } from './config.ts';

const metadata = { name: 'a', namespace: 'b' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('validateConfigMap', () => {
  const fieldErrors = (members: object): readonly string[] =>
    validateConfigMap({ metadata, ...members }).map((error) => `${error.kind} ${error.field}`);
  test.each([
    ['that is empty', {}, []],
    ['with good keys', { data: { 'a.B_c-1': 'x' }, binaryData: { b: 'AAAA' } }, []],
    [
      'with bad keys',
      { data: { 'a/b': '', '..': '' }, binaryData: { '': '' } },
      ['FieldValueInvalid data[a/b]', 'FieldValueInvalid data[..]', 'FieldValueInvalid binaryData[]'],
    ],
    ['with one key in both', { data: { a: '' }, binaryData: { a: '' } }, ['FieldValueInvalid data[a]']],
    [
      'as large as possible',
      { data: { a: 'x'.repeat(MAX_CONFIG_BYTES - 2) }, binaryData: { b: 'AAA=' } },
      [],
    ],
    [
      'one byte larger',
      { data: { a: 'x'.repeat(MAX_CONFIG_BYTES - 2) }, binaryData: { b: 'AAAA' } },
      ['FieldValueTooLong data'],
    ],
  ])('%s', (_, members, expected) => expect(fieldErrors(members)).toEqual(expected));
});

describe.each([VOCABULARIES.plat, VOCABULARIES.kubernetes])(
  'validateSecret with words of $name',
  (vocabulary) => {
    const fieldErrors = (type: string, data: Readonly<Record<string, string>>): readonly string[] =>
      validateSecret({ metadata, type, data }, vocabulary).map((error) => `${error.kind} ${error.field}`);
    const { secretTypeDockerConfigJson: json, secretTypeDockerConfig: cfg, domain } = vocabulary;
    test.each([
      ['Opaque', {}, []],
      ['mine.io/anything', { a: '' }, []],
      ['Opaque', { 'a b': '' }, ['FieldValueInvalid data[a b]']],
      [json, { '.dockerconfigjson': base64('{"auths":{}}') }, []],
      [json, {}, ['FieldValueRequired data[.dockerconfigjson]']],
      [json, { '.dockerconfigjson': base64('{') }, ['FieldValueInvalid data[.dockerconfigjson]']],
      [cfg, {}, ['FieldValueRequired data[.dockercfg]']],
      [`${domain}/basic-auth`, { username: '' }, []],
      [
        `${domain}/basic-auth`,
        {},
        ['FieldValueRequired data[username]', 'FieldValueRequired data[password]'],
      ],
      [`${domain}/ssh-auth`, {}, ['FieldValueRequired data[ssh-privatekey]']],
      [`${domain}/tls`, { 'tls.crt': '' }, ['FieldValueRequired data[tls.key]']],
    ])('%s %j', (type, data, expected) => expect(fieldErrors(type, data)).toEqual(expected));

    it('shows no value', () => {
      const errors = validateSecret(
        { metadata, type: json, data: { '.dockerconfigjson': base64('hunter2') } },
        vocabulary,
      );
      expect(JSON.stringify(errors)).not.toMatch(/hunter2|aHVudGVyMg/);
    });
  },
);
