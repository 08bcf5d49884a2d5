import { describe, expect, test } from 'vitest';
import { findError } from './judge.ts';
import type { Ask } from './requests.ts';
import type { HttpResponse } from './send.ts';

const ask = (change: Partial<Ask> = {}): Ask => ({
  method: 'GET',
  target: '/api/v1/pods',
  headers: [],
  ...change,
});
const failure = (code: number, change: object = {}): string =>
  JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: 'm',
    reason: 'r',
    code,
    ...change,
  });
const response = (status: number, text: string, change: Partial<HttpResponse> = {}): HttpResponse => ({
  status,
  contentType: 'application/json',
  text,
  tookMs: 1,
  ...change,
});

describe('findError', () => {
  test.each<[string, Ask, HttpResponse]>([
    ['an object', ask(), response(200, '{}')],
    ['a Status', ask(), response(404, failure(404))],
    ['text', ask(), response(404, 'not found', { contentType: 'text/plain' })],
    ['a stream that is cut off', ask({ target: '/api/v1/pods?watch=1' }), response(200, '{"type":"ADD')],
    ['an unknown state', ask(), response(504, failure(504, { message: 'Too large resource version: 9' }))],
    ['a way that is not there', ask({ target: '/api/v1/nodes/a/proxy/' }), response(503, failure(503))],
    ['no response to an invalid request', ask({ raw: Buffer.from('x') }), response(0, '')],
  ])('takes %s', (_name, requested, given) => {
    expect(findError(requested, given)).toBeUndefined();
  });

  test.each<[string, Ask, HttpResponse]>([
    ['an error of the server', ask(), response(500, failure(500))],
    ['a full server', ask({ method: 'POST' }), response(507, failure(507))],
    ['a server that is not available', ask(), response(503, failure(503))],
    ['a time-out without a requested limit', ask(), response(504, failure(504))],
    ['half a body', ask(), response(200, '{"kind":')],
    ['a failure without a Status', ask(), response(404, '{}')],
    ['a Status with another code', ask(), response(404, failure(400))],
    ['a Status without a reason', ask(), response(404, failure(404, { reason: undefined }))],
  ])('finds %s', (_name, requested, given) => {
    expect(findError(requested, given)).toEqual(expect.any(String));
  });
});
