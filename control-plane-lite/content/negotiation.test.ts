import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { bodyFormat, contentTypeOf, negotiate, type Offer, wantsPretty } from './negotiation.ts';

const { plat, kubernetes } = VOCABULARIES;
const ALL: Offer = { protobuf: 'all', transforms: true };
const CUSTOM: Offer = { protobuf: 'metadata', transforms: true };
const PLAIN: Offer = { protobuf: 'none', transforms: false };

const PROTOBUF = plat.protobufContentType;
const META = `g=meta.${plat.apiGroupDomain}`;
const TABLE = `application/json;as=Table;v=v1;${META}`;
const PARTIAL = `as=PartialObjectMetadata;v=v1;${META}`;

function chosen(accept: string | undefined, offer = ALL, watch = false): string {
  try {
    const { mediaType, as, metaVersion, pretty } = negotiate(accept, offer, plat, watch);
    return [
      mediaType,
      as,
      ...(metaVersion === 'v1' ? [] : [metaVersion]),
      ...(pretty ? ['pretty'] : []),
    ].join(' ');
  } catch (error) {
    return error instanceof StatusError ? `${error.code} ${error.message}` : String(error);
  }
}

describe('negotiate', () => {
  const refused = `406 only the following media types are accepted: application/json, application/yaml, ${PROTOBUF}`;
  test.each<[string | undefined, string]>([
    [undefined, 'json object'],
    ['', 'json object'],
    ['*/*', 'json object'],
    ['application/*', 'json object'],
    ['application/json', 'json object'],
    ['APPLICATION/JSON', 'json object'],
    ['application/json;profile=x;charset=utf-8', 'json object'],
    ['application/json;pretty=1', 'json object pretty'],
    ['application/yaml', 'yaml object'],
    [PROTOBUF, 'protobuf object'],
    [`${PROTOBUF},application/json`, 'protobuf object'],
    [`application/json;q=0.5, ${PROTOBUF};q=0.9`, 'protobuf object'],
    [`application/json;q=0, application/yaml;q=0.1`, 'yaml object'],
    ['*/*;q=0.8,application/yaml;q=0.8', 'yaml object'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'json object'],
    [TABLE, 'json Table'],
    [`${TABLE},application/json;as=Table;v=v1beta1;${META},application/json`, 'json Table'],
    [`application/json;as=Table;v=v1beta1;${META}`, 'json Table v1beta1'],
    [`application/json;as=Table;v=v2;${META},application/json`, 'json object'],
    [`application/json;as=Table;v=v1;g=else,application/yaml`, 'yaml object'],
    [`application/json;as=Thing;v=v1;${META}`, refused],
    [`${PROTOBUF};as=Table;v=v1;${META}`, refused],
    [`${PROTOBUF};${PARTIAL}`, 'protobuf PartialObjectMetadata'],
    [`*/*;${PARTIAL}`, 'json PartialObjectMetadata'],
    [`application/yaml;as=Table;v=v1;${META}`, 'yaml Table'],
    ['text/plain', refused],
    ['application/json;q=0', refused],
    ['nonsense', refused],
    ['application/json;stream=watch', refused],
  ])('%s: %s', (accept, expected) => {
    expect(chosen(accept)).toBe(expected);
  });

  test.each([
    [
      PROTOBUF,
      CUSTOM,
      `406 only the following media types are accepted: application/json, application/yaml, ${PROTOBUF}`,
    ],
    [`${PROTOBUF};${PARTIAL}`, CUSTOM, 'protobuf PartialObjectMetadata'],
    [PROTOBUF, PLAIN, '406 only the following media types are accepted: application/json, application/yaml'],
    [`${TABLE},application/json`, PLAIN, 'json object'],
    [`${PROTOBUF},application/json`, PLAIN, 'json object'],
  ])('%s of what is offered: %s', (accept, offer, expected) => {
    expect(chosen(accept, offer)).toBe(expected);
  });

  it('takes stream parameters for watches only', () => {
    expect(chosen(`${PROTOBUF};stream=watch`, ALL, true)).toBe('protobuf object');
    expect(chosen('application/json;stream=else', ALL, true)).toMatch(/^406/);
  });

  it('speaks the vocabulary', () => {
    expect(negotiate(kubernetes.protobufContentType, ALL, kubernetes).mediaType).toBe('protobuf');
    expect(() => negotiate(kubernetes.protobufContentType, ALL, plat)).toThrow(StatusError);
  });

  it('knows upstream’s group of tables in either vocabulary, and responds in that of the request', () => {
    const { apiGroupDomain } = kubernetes;
    const table = `application/json;as=Table;v=v1;g=meta.${apiGroupDomain}`;
    expect(negotiate(table, ALL, plat)).toMatchObject({ as: 'Table', metaDomain: apiGroupDomain });
    expect(negotiate(table, ALL, kubernetes).metaDomain).toBeUndefined();
    expect(negotiate(TABLE, ALL, plat).metaDomain).toBeUndefined();
    expect(() => negotiate(TABLE, ALL, kubernetes)).toThrow(StatusError);
  });

  it('accepts or rejects any header', () => {
    const part = fc.constantFrom(
      'application/json',
      '*/*',
      ';',
      ',',
      '=',
      'q',
      'as=Table',
      '"',
      ' ',
      'é',
      '/',
      'q=1e9',
    );
    fc.assert(
      fc.property(
        fc.array(part).map((parts) => parts.join('')),
        (accept) => {
          expect(chosen(accept)).toMatch(/^(?:json|yaml|protobuf|406) /);
        },
      ),
    );
  });
});

describe('contentTypeOf', () => {
  it('names what is sent', () => {
    expect(contentTypeOf('json', plat, true)).toBe('application/json');
    expect(contentTypeOf('yaml', plat)).toBe('application/yaml');
    expect(contentTypeOf('protobuf', plat, true)).toBe(`${PROTOBUF};stream=watch`);
  });
});

describe('bodyFormat', () => {
  it('knows upstream’s name of protobuf in either vocabulary', () => {
    expect(bodyFormat(kubernetes.protobufContentType, ALL, plat)).toBe('protobuf');
    expect(() => bodyFormat(kubernetes.protobufContentType, PLAIN, plat)).toThrow(StatusError);
    expect(() => bodyFormat(PROTOBUF, ALL, kubernetes)).toThrow(StatusError);
  });

  test.each<[string | undefined, string]>([
    [undefined, 'json'],
    ['application/json', 'json'],
    ['application/json; charset=utf-8', 'json'],
    ['Application/YAML', 'yaml'],
    [PROTOBUF, 'protobuf'],
  ])('%s', (contentType, expected) => {
    expect(bodyFormat(contentType, ALL, plat)).toBe(expected);
  });

  it('rejects unknown formats', () => {
    expect(() => bodyFormat('text/html', PLAIN, plat)).toThrow(
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml',
    );
    expect(() => bodyFormat(PROTOBUF, PLAIN, plat)).toThrow(StatusError);
  });
});

describe('wantsPretty', () => {
  test.each([
    ['pretty=true', 'x', true],
    ['pretty=1', undefined, true],
    ['pretty=false', 'curl/8', false],
    ['', 'curl/8.1', true],
    ['', 'Mozilla/5.0 (X11)', true],
    ['', 'Wget/1.2', true],
    ['', 'platctl/1.24', false],
    ['', undefined, false],
    ['pretty=', 'curl/8', true],
  ])('%s %s', (query, userAgent, expected) => {
    expect(wantsPretty(new URLSearchParams(query), userAgent)).toBe(expected);
  });
});
