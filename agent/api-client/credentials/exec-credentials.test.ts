import { describe, expect, test } from 'vitest';
import type { ExecSpec } from '#api/client-config/exec-spec.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { formatTime } from '#api/meta/time.ts';
import { createAuthority } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createExecCredentials } from './exec-credentials.ts';
import type { ExecPluginRun } from './run-exec-plugin.ts';

const apiVersion = `client.authentication.${VOCABULARIES.plat.apiGroupDomain}/v1`;
const { signal } = new AbortController();
const identity = createAuthority({ commonName: 'a' }, new Date(0), new Date(4e12));

function setUp(change: Partial<ExecSpec> = {}, hasTerminal = false) {
  const clock = createFakeClock();
  const runs: ExecPluginRun[] = [];
  const next: { status: object | undefined } = { status: undefined };
  const source = createExecCredentials(
    {
      clock,
      env: { HOME: '/root', A: 'ours' },
      hasTerminal,
      passOn: () => undefined,
      async runPlugin(run) {
        await Promise.resolve();
        runs.push(run);
        const status = next.status ?? { token: `t${runs.length}` };
        return JSON.stringify({ kind: 'ExecCredential', apiVersion, status });
      },
    },
    {
      command: '/bin/login',
      args: ['a b', '; rm'],
      env: [{ name: 'A', value: 'theirs' }],
      apiVersion,
      infoVariable: VOCABULARIES.plat.execInfoVariable,
      interactiveMode: 'IfAvailable',
      installHint: 'hint',
      ...change,
    },
  );
  return { clock, runs, next, source };
}

describe('createExecCredentials', () => {
  test('runs the plugin once for all callers, with arguments, environment and request', async () => {
    const { source, runs } = setUp();
    const credentials = await Promise.all([source.current(signal), source.current(signal)]);
    expect([...credentials, await source.current(signal)]).toEqual(
      Array.from({ length: 3 }, () => ({ authorization: 'Bearer t1' })),
    );
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({
      command: '/bin/login',
      args: ['a b', '; rm'],
      interactive: false,
      installHint: 'hint',
      env: { HOME: '/root', A: 'theirs' },
    });
    expect(JSON.parse(runs[0]?.env[VOCABULARIES.plat.execInfoVariable] ?? '')).toEqual({
      kind: 'ExecCredential',
      apiVersion,
      spec: { interactive: false },
    });
  });

  test('caches a credential until it expires', async () => {
    const { source, runs, next, clock } = setUp();
    next.status = { token: 'x', expirationTimestamp: formatTime(clock.now() + 60_000) };
    await source.current(signal);
    await clock.advance(58_000);
    await source.current(signal);
    expect(runs).toHaveLength(1);
    await clock.advance(2_000);
    await source.current(signal);
    expect(runs).toHaveLength(2);
  });

  test('runs again once after a rejection, however many requests were rejected', async () => {
    const { source, runs } = setUp();
    const used = await source.current(signal);
    await Promise.all([source.refused(used, signal), source.refused(used, signal)]);
    await source.refused(used, signal);
    expect(await source.current(signal)).toEqual({ authorization: 'Bearer t2' });
    expect(runs).toHaveLength(2);
  });

  test('returns the same object for the same certificate', async () => {
    const { source, next } = setUp();
    next.status = { clientCertificateData: identity.certificate, clientKeyData: identity.key };
    const used = await source.current(signal);
    await source.refused(used, signal);
    const { certificate } = await source.current(signal);
    expect(certificate).toEqual({ certificate: identity.certificate, key: identity.key });
    expect(certificate).toBe(used.certificate);
  });

  test('gives the plugin a terminal', async () => {
    const { source, runs } = setUp({}, true);
    await source.current(signal);
    expect(runs[0]?.interactive).toBe(true);
  });

  test('fails without a required terminal', async () => {
    const { source, runs } = setUp({ interactiveMode: 'Always' });
    await expect(source.current(signal)).rejects.toThrow(
      'credential plugin /bin/login needs a terminal on standard input (interactiveMode Always), and there is none',
    );
    expect(runs).toEqual([]);
  });

  test('reports an invalid response without quoting it, and runs again', async () => {
    const { source, runs, next } = setUp();
    next.status = { secret: 'x' };
    await expect(source.current(signal)).rejects.toThrow(
      'credential plugin /bin/login returned an invalid response: status must have a token, or a client certificate with its key',
    );
    next.status = undefined;
    expect(await source.current(signal)).toEqual({ authorization: 'Bearer t2' });
    expect(runs).toHaveLength(2);
  });
});
