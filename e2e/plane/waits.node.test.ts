/** Pending waits of the server are reported with the reason as long as they last. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startConversionWebhook } from './conversion-webhook.ts';
import { configMap, usePlane } from './support.ts';

const LASTING = { timeout: 30_000 };

describe('what the server waits on', () => {
  const plane = usePlane();
  /** Takes connections, and says nothing. */
  let silent: Server;
  let url: string;
  let caBundle: string;

  beforeAll(async () => {
    const sockets = new Set<{ destroy: () => void }>();
    silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
    silent.on('close', () => sockets.clear());
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = silent.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    url = `https://127.0.0.1:${address.port}`;
    await using other = await startConversionWebhook(() => ({}));
    ({ caBundle } = other);
  });
  afterAll(() => void silent.close());

  const health = async (): Promise<string> => (await plane.get('/healthz?verbose')).text;

  test('an admission webhook that does not respond', async () => {
    const path = plane.path('admissionregistration/v1', 'validatingwebhookconfigurations');
    const { status } = await plane.post(path, {
      metadata: { name: 'silent' },
      webhooks: [
        {
          name: 'silent.example.com',
          clientConfig: { url: `${url}/check`, caBundle },
          rules: [
            { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
          ],
          failurePolicy: 'Ignore',
          sideEffects: 'None',
          timeoutSeconds: 9,
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    expect(status).toBe(201);
    const at = await plane.namespace();
    const creating = (async () => {
      // The configuration may not count yet for the first of them.
      for (let turn = 0; turn < 20; turn += 1) {
        const startedMs = Date.now();
        await plane.post(`${at}/configmaps`, configMap(`a-${turn}`));
        if (Date.now() - startedMs > 5000) return;
      }
    })();
    await expect
      .poll(health, LASTING)
      .toMatch(/waiting for admission webhook "silent\.example\.com" \(\d+ s\): no response yet\n/);
    await plane.delete(`${path}/silent`);
    await creating;
    await expect.poll(health, LASTING).not.toContain('admission webhook');
  });

  test('the server of an APIService that is away', async () => {
    const path = plane.path('apiregistration/v1', 'apiservices');
    const { status } = await plane.post(path, {
      metadata: { name: 'v1.away.example.com' },
      spec: {
        group: 'away.example.com',
        version: 'v1',
        groupPriorityMinimum: 1000,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service: { namespace: 'default', name: 'away' },
      },
    });
    expect(status).toBe(201);
    await expect
      .poll(health, LASTING)
      .toMatch(/waiting for API server of v1\.away\.example\.com \(\d+ s\): .*away.*\n/);
    await plane.delete(`${path}/v1.away.example.com`);
    await expect.poll(health, LASTING).not.toContain('away.example.com');
  });
});
