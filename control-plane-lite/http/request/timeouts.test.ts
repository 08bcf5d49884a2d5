import { describe, expect, test } from 'vitest';
import { isLongRunning, parseRequestInfo, requestTimeoutMs } from './request-info.ts';

describe('requestTimeoutMs', () => {
  test.each([
    ['', 60_000],
    ['limit=5', 60_000],
    ['timeout=5s', 5000],
    ['timeout=1m30s', 60_000],
    ['timeout=0s', 60_000],
    ['timeout=', 60_000],
    ['timeoutSeconds=7', 7000],
    ['timeoutSeconds=700', 60_000],
    ['timeoutSeconds=0', 60_000],
    ['timeoutSeconds=-1', 60_000],
    ['timeoutSeconds=9223372036854775807', 60_000],
    ['timeoutSeconds=-9223372036854775808', 60_000],
    ['timeout=2s&timeoutSeconds=7', 2000],
  ])('of %s', (query, ms) => {
    expect(requestTimeoutMs(new URLSearchParams(query), 60_000)).toBe(ms);
  });

  test.each([
    'timeout=5',
    'timeout=-1s',
    'timeoutSeconds=x',
    'timeoutSeconds=9223372036854775808',
    'timeoutSeconds=1.5',
  ])('rejects %s', (query) => {
    expect(() => requestTimeoutMs(new URLSearchParams(query), 60_000)).toThrow(/invalid timeout/);
  });
});

describe('isLongRunning', () => {
  test.each([
    ['GET', '/api/v1/pods', '', false],
    ['GET', '/api/v1/pods', 'watch=1', true],
    ['GET', '/api/v1/watch/pods', '', true],
    ['POST', '/api/v1/namespaces/n/pods/p/exec', '', true],
    ['GET', '/api/v1/namespaces/n/pods/p/log', '', true],
    ['GET', '/api/v1/namespaces/n/pods/p/status', '', false],
    ['GET', '/api/v1/nodes/n/proxy/a', '', true],
    ['GET', '/healthz', '', false],
  ])('%s %s?%s', (method, path, query, expected) => {
    expect(isLongRunning(parseRequestInfo(method, path, new URLSearchParams(query)))).toBe(expected);
  });
});
