/** Flags of upstream's API server with an effect: privileged containers, profiles, log files, streams of a connection. */
import { connect } from 'node:http2';
import { describe, expect, test } from 'vitest';
import { pod, usePlane } from './support.ts';

const FLAGS = [
  '--allow-privileged=false',
  '--http2-max-streams-per-connection=7',
  '--goaway-chance=0.02',
  '--min-request-timeout=60',
];

describe('a server with flags', () => {
  const plane = usePlane('plat', FLAGS);

  test('refuses privileged containers, in pods and in templates', async () => {
    const namespace = await plane.namespace();
    const containers = [{ name: 'c', image: 'i', securityContext: { privileged: true } }];
    const { status, body } = await plane.post(`${namespace}/pods`, pod('a', { containers }));
    expect([status, body.message]).toEqual([
      422,
      expect.stringContaining(
        'spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy',
      ),
    ]);
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers } };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a' },
      spec: { selector: { matchLabels: { a: 'b' } }, template },
    };
    const path = namespace.replace('/api/v1', '/apis/apps/v1');
    expect((await plane.post(`${path}/deployments`, deployment)).status).toBe(422);
  });

  test('serves profiles to those who may get them', async () => {
    expect((await plane.get('/debug/pprof/')).text).toContain('/debug/pprof/profile');
    expect((await plane.get('/debug/pprof/cmdline')).status).toBe(200);
    const { status, text } = await plane.get('/debug/pprof/profile?seconds=1');
    expect(status).toBe(200);
    expect(JSON.parse(text)).toHaveProperty('nodes');
    expect((await plane.get('/debug/pprof/profile?seconds=x')).status).toBe(400);
    expect((await plane.get('/debug/pprof/other')).status).toBe(404);
    expect((await plane.as('').get('/debug/pprof/')).status).toBe(403);
  });

  test('serves log files to those who may get them', async () => {
    expect((await plane.get('/logs/')).text).toMatch(/^<pre>/);
    expect((await plane.get('/logs/no-such-file')).status).toBe(404);
    expect((await plane.as('').get('/logs/')).status).toBe(403);
  });

  test('allows as many streams of a connection as configured', async () => {
    const { ca, cert, key } = plane.server.credentials();
    const session = connect(plane.server.url, { ca, cert, key });
    const settings = await new Promise<{ maxConcurrentStreams?: number }>((resolve, reject) => {
      session.once('remoteSettings', resolve);
      session.once('error', reject);
    });
    expect(settings.maxConcurrentStreams).toBe(7);
    session.destroy();
  });
});

describe('a server without profiles and logs', () => {
  const plane = usePlane('plat', ['--profiling=false', '--enable-logs-handler=false']);

  test.each(['/debug/pprof/', '/logs/'])('does not serve %s', async (path) => {
    expect((await plane.get(path)).status).toBe(404);
  });
});
