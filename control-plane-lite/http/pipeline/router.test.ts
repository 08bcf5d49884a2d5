import { describe, expect, test } from 'vitest';
import type { PathRoute } from '../contract.ts';
import { pageNotFound } from '../response/status-response.ts';
import { createRouter, type Route } from './router.ts';

const route = (path: string, methods: readonly string[] = ['GET'], below = false): PathRoute => ({
  path,
  methods,
  below,
  handler: () => ({ ...pageNotFound(), contentType: `${path} ${methods.join()}` }),
});

const routes = [
  route('/'),
  route('/apis', ['GET'], true),
  route('/apis/special', ['GET'], true),
  route('/apis/special/one'),
  route('/upload', ['POST']),
  route('/upload', ['PUT']),
];

async function nameOf(found: Route): Promise<string> {
  if (found.kind === 'none') return 'none';
  if (found.kind !== 'handler') return `${found.kind} ${found.allowed.join()}`;
  // These handlers do not inspect their request.
  const response = await found.handler({} as never);
  return response.kind === 'bytes' ? response.contentType : '';
}

describe('createRouter', () => {
  test.each([
    ['GET', '/', '/ GET'],
    ['GET', '/apis', '/apis GET'],
    ['GET', '/apis/', '/apis GET'],
    ['HEAD', '/apis', '/apis GET'],
    ['GET', '/apis/apps/v1', '/apis GET'],
    ['GET', '/apis/special', '/apis/special GET'],
    ['GET', '/apis/special/one', '/apis/special/one GET'],
    ['GET', '/apis/special/two/three', '/apis/special GET'],
    ['GET', '/apisx', 'none'],
    ['GET', '/nowhere/at/all', 'none'],
    ['POST', '/upload', '/upload POST'],
    ['PUT', '/upload', '/upload PUT'],
    ['GET', '/upload', 'wrongMethod POST,PUT,OPTIONS'],
    ['DELETE', '/apis', 'wrongMethod GET,HEAD,OPTIONS'],
    ['OPTIONS', '/apis', 'options GET,HEAD,OPTIONS'],
  ])('%s %s leads to %s', async (method, path, expected) => {
    expect(await nameOf(createRouter(routes)(method, path))).toBe(expected);
  });
});
