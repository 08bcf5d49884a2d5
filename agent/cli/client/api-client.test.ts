import { describe, expect, test } from 'vitest';
import { AgentUnreachableError, createLocalApi, readFailure, requestTarget } from './api-client.ts';

describe('requestTarget', () => {
  test('encodes segments and omits undefined parameters', () => {
    const target = requestTarget({
      path: ['exec', 'default', 'a/b?c'],
      query: { container: undefined, command: ['ls', '-l /'], tty: 'true' },
    });
    expect(target).toBe('/exec/default/a%2Fb%3Fc?command=ls&command=-l+%2F&tty=true');
  });
});

describe('readFailure', () => {
  test('uses message and reason of a Status', () => {
    const failure = readFailure(404, '{"kind":"Status","message":"no such pod","reason":"NotFound"}');
    expect(failure).toMatchObject({ message: 'no such pod', reason: 'NotFound', status: 404 });
  });

  test.each(['', 'oops', '[]', 'null', '{"message":7}'])('quotes the response %j', (text) => {
    expect(readFailure(500, text).message).toBe(`the agent responded with 500: ${text}`);
  });
});

describe('createLocalApi', () => {
  test('names the socket and the remedy', async () => {
    const api = createLocalApi('/tmp/na-no-such.sock');
    const failure = api.json({ path: ['pods'] });
    await expect(failure).rejects.toThrow(AgentUnreachableError);
    await expect(failure).rejects.toThrow(
      /\/tmp\/na-no-such\.sock: is the agent running\? .*systemctl status nodeagent/,
    );
  });

  test('reports missing permissions', () => {
    const refused = Object.assign(new Error('connect EACCES'), { code: 'EACCES' });
    expect(new AgentUnreachableError('/run/x.sock', refused).message).toMatch(
      /only root can connect to the agent/,
    );
  });

  test('rejects with the reason of an abort', async () => {
    const reason = new Error('enough');
    const api = createLocalApi('/tmp/na-no-such.sock');
    await expect(api.json({ path: ['pods'], signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
