import { describe, expect, test } from 'vitest';
import { rewriteLocation } from './pass-through.ts';

describe('rewriteLocation', () => {
  const prefix = '/api/v1/namespaces/ns/pods/web/proxy';

  test.each([
    ['/login?next=1#top', `${prefix}/login?next=1#top`],
    ['http://10.0.0.7:80/a', 'http://10.0.0.7:80/a'],
    ['http://10.0.0.7:8080/a', `${prefix}/a`],
    ['next', 'next'],
    ['https://example.com/a', 'https://example.com/a'],
    ['//example.com/a', '//example.com/a'],
  ])('%s', (location, expected) => {
    expect(rewriteLocation(location, prefix, '10.0.0.7:8080')).toBe(expected);
  });
});
