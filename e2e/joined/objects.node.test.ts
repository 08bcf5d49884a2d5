/** API objects used by pods: Secrets, ConfigMaps, tokens, and the addresses of services. */
import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { containerId, isWaiting, sh, WAIT } from '../lifecycle/support.ts';
import { useJoined } from './support.ts';

const CORE = '/api/v1/namespaces/default';

describe.concurrent('objects of the API server', () => {
  const joined = useJoined();

  async function create(resource: string, object: object): Promise<void> {
    const { status, text } = await joined.plane.post(`${CORE}/${resource}`, { apiVersion: 'v1', ...object });
    if (status !== 201) throw new Error(`${resource}: ${status} ${text}`);
  }

  /** The output of a command in the pod's container `c`. */
  async function inside(pod: Pod, script: string): Promise<string> {
    const request = { containerId: containerId(pod, 'c'), cmd: ['sh', '-c', script], timeout: 10n };
    return Buffer.from((await joined.cri.runtime.execSync(request)).stdout).toString();
  }

  test('appear in variables and files, and files change with them', async () => {
    await create('configmaps', { kind: 'ConfigMap', metadata: { name: 'conf' }, data: { level: 'one' } });
    await create('secrets', { kind: 'Secret', metadata: { name: 'key' }, stringData: { word: 'sesame' } });
    await joined.run('reader', {
      volumes: [{ name: 'v', configMap: { name: 'conf' } }],
      containers: [
        sh('c', WAIT, {
          envFrom: [{ secretRef: { name: 'key' } }],
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        }),
      ],
    });
    const pod = await joined.shows('reader', isReady);
    expect(await inside(pod, 'echo $word; cat /v/level')).toBe('sesame\none');
    await joined.patch(`${CORE}/configmaps/conf`, { data: { level: 'two' } });
    expect(await eventually(async () => (await inside(pod, 'cat /v/level')) === 'two')).toBe(true);
  });

  test('are waited for', async () => {
    await joined.run('early', {
      containers: [sh('c', WAIT, { envFrom: [{ secretRef: { name: 'late' } }] })],
    });
    await joined.shows('early', isWaiting('c', 'CreateContainerConfigError'));
    await create('secrets', { kind: 'Secret', metadata: { name: 'late' }, stringData: { word: 'now' } });
    const pod = await joined.shows('early', isReady);
    expect(await inside(pod, 'echo $word')).toBe('now\n');
  });

  test('come with a token that the server accepts', async () => {
    await joined.run('account', { automountServiceAccountToken: true, containers: [sh('c', WAIT)] });
    const pod = await joined.shows('account', isReady);
    const [mount] = pod.spec?.containers[0]?.volumeMounts ?? [];
    const token = await inside(pod, `cat ${mount?.mountPath}/token`);
    expect(await inside(pod, `cat ${mount?.mountPath}/namespace`)).toBe('default');
    expect(await inside(pod, `cat ${mount?.mountPath}/ca.crt`)).toContain('BEGIN CERTIFICATE');
    const headers = { authorization: `Bearer ${token}` };
    const response = await joined.plane.call('GET', '/api', { anonymous: true, headers });
    expect(response.status).toBe(200);
  });

  test('include the services that there are', async () => {
    const ports = [{ name: 'main', port: 80 }];
    const spec = { clusterIP: '10.0.0.99', ports };
    await create('services', { kind: 'Service', metadata: { name: 'shop-front' }, spec });
    // The agent's watch of services may lag.
    const pod = await eventually(async () => {
      const name = `links-${performance.now().toFixed(0)}`;
      await joined.run(name, { containers: [sh('c', WAIT)] });
      const found = await joined.shows(name, isReady);
      return (await inside(found, 'env')).includes('SHOP_FRONT') ? found : undefined;
    });
    const env = await inside(pod, 'env');
    expect(env).toContain('SHOP_FRONT_SERVICE_HOST=10.0.0.99\n');
    expect(env).toContain('SHOP_FRONT_PORT=tcp://10.0.0.99:80\n');
    await joined.run('unlinked', { enableServiceLinks: false, containers: [sh('c', WAIT)] });
    expect(await inside(await joined.shows('unlinked', isReady), 'env')).not.toContain('SHOP_FRONT');
  });
});
