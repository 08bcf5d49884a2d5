import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatNormalized,
  ImageReferenceError,
  imageToPull,
  parseImageReference,
  repositoryName,
} from './reference.ts';

const HEX = 'a'.repeat(64);

describe('parseImageReference', () => {
  test.each<[string, string, string]>([
    ['busybox', 'docker.io/library/busybox:latest', 'busybox:latest'],
    ['busybox:1.36', 'docker.io/library/busybox:1.36', 'busybox:1.36'],
    ['docker.io/busybox', 'docker.io/library/busybox:latest', 'docker.io/busybox:latest'],
    ['index.docker.io/busybox', 'docker.io/library/busybox:latest', 'index.docker.io/busybox:latest'],
    ['team/app', 'docker.io/team/app:latest', 'team/app:latest'],
    ['quay.io/a/b/c:v1', 'quay.io/a/b/c:v1', 'quay.io/a/b/c:v1'],
    ['localhost/x', 'localhost/x:latest', 'localhost/x:latest'],
    ['localhost:5000/x', 'localhost:5000/x:latest', 'localhost:5000/x:latest'],
    ['reg:5000/x:1', 'reg:5000/x:1', 'reg:5000/x:1'],
    ['[::1]:5000/x', '[::1]:5000/x:latest', '[::1]:5000/x:latest'],
    ['REG/x', 'REG/x:latest', 'REG/x:latest'],
    ['a/b__c--d.e', 'docker.io/a/b__c--d.e:latest', 'a/b__c--d.e:latest'],
    [`x@sha256:${HEX}`, `docker.io/library/x@sha256:${HEX}`, `x@sha256:${HEX}`],
    [`x:1@sha256:${HEX}`, `docker.io/library/x:1@sha256:${HEX}`, `x:1@sha256:${HEX}`],
    ['x:Upper_1.2-3', 'docker.io/library/x:Upper_1.2-3', 'x:Upper_1.2-3'],
  ])('reads %s', (text, normalized, toPull) => {
    const reference = parseImageReference(text);
    expect(formatNormalized(reference)).toBe(normalized);
    expect(imageToPull(reference)).toBe(toPull);
    expect(normalized.startsWith(repositoryName(reference))).toBe(true);
  });

  test.each([
    '',
    ' ',
    'Busybox',
    'a b',
    'a//b',
    '/a',
    'a/',
    'a:',
    `a:${'x'.repeat(129)}`,
    'a:-x',
    'a@',
    'a@sha256:abc',
    `a@sha256:${HEX.slice(1)}`,
    `a@sha256:${HEX.toUpperCase()}`,
    `a@md5:${'a'.repeat(32)}`,
    'a..b',
    'a._b',
    '-reg.io/a',
    'reg.io:port/a',
    'reg.io:/a',
    'https://reg.io/a',
    HEX,
    `${'a/'.repeat(130)}b`,
    'a\nb',
    'ünicode',
  ])('rejects %j', (text) => {
    expect(() => parseImageReference(text)).toThrow(ImageReferenceError);
  });

  test('returns an idempotent normal form', () => {
    const part = fc.stringMatching(/^[a-z0-9]{1,8}$/);
    const name = fc.tuple(
      fc.constantFrom('', 'reg.io/', 'reg.io:5000/', 'localhost/'),
      fc.array(part, { minLength: 1, maxLength: 3 }),
    );
    fc.assert(
      fc.property(
        name,
        fc.constantFrom('', ':v1', `@sha256:${HEX}`, `:v1@sha256:${HEX}`),
        ([host, parts], suffix) => {
          const normalized = formatNormalized(parseImageReference(host + parts.join('/') + suffix));
          expect(formatNormalized(parseImageReference(normalized))).toBe(normalized);
        },
      ),
    );
  });
});
